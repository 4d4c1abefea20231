"""Text from agents and networks, made safe: nothing in it drives a terminal or reorders what people read."""

import unicodedata

_DIRECTIONS = frozenset("\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def for_output(text: str) -> str:
    """For a command to print, lines kept: a control character is shown as `^X`.

    Each character is treated by itself, so what is printed of a text that grows need not change.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _visible(char) for char in text.replace("\r\n", "\n"))


def for_line(text: str) -> str:
    """The same for one word or name in a line: in one line, too."""
    return text if text.isprintable() else " ".join(for_output(text).split())


def for_json(text: str) -> str:
    """JSON with escapes for what a terminal might act on and `json` leaves as it is."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(f"\\u{ord(char):04x}" if _acts(char) else char for char in text)


def for_cells(text: str) -> str:
    """For lines drawn cell by cell: also without what has no width that all terminals agree on."""
    if not text.isprintable():
        text = _without_escapes(text).expandtabs(4)
        text = "\n".join(line if line.isprintable() else _only_text(line) for line in text.split("\n"))
    return text.replace("\ufe0f", "").replace("\ufe0e", "")


def for_typing(text: str) -> str:
    """For an agent's prompt: line ends, tabs, and characters that join or direct others are kept."""
    import re  # here: `synapse list` must not load it

    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", "", _without_escapes(text))
    return text.encode("utf-8", "replace").decode()


def _acts(char: str) -> bool:
    return "\x7f" <= char <= "\x9f" or char in _DIRECTIONS or "\ud800" <= char <= "\udfff"


def _visible(char: str) -> str:
    if char == "\t":
        return "    "
    if char == "\n" or not (char in _DIRECTIONS or unicodedata.category(char) in ("Cc", "Cs")):
        return char
    return f"^{chr(ord(char) ^ 64)}" if char < "\x80" else "\ufffd"


def _without_escapes(text: str) -> str:
    import re

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    sequence = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b(?:[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?"
    return re.sub(sequence, "", text, flags=re.DOTALL)


def _only_text(line: str) -> str:
    return "".join(char for char in line if char.isprintable() or unicodedata.category(char) == "Zs")
