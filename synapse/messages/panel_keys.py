"""The keys that the panel uses, by tmux's names, and the line in which a human answers a question. Pure."""

from dataclasses import dataclass

from synapse.base.text import for_cells
from synapse.keys.decoder import KEY, MOUSE, PASTE, TEXT, KeyDecoder
from synapse.terminal import cells, markdown
from synapse.terminal.markdown import Lines

_NAMES = {
    "up": "Up", "down": "Down", "left": "Left", "right": "Right", "home": "Home", "end": "End",
    "page-up": "PageUp", "page-down": "PageDown", "delete": "Delete", "enter": "Enter",
    "shift-enter": "Enter", "ctrl-j": "Enter", "esc": "Escape", "shift-esc": "Escape",
    "tab": "Tab", "shift-tab": "S-Tab", "backspace": "Backspace",
    "wheel-up": "WheelUp", "wheel-down": "WheelDown",
}  # fmt: skip
_WITH_ANY_MODIFIER = {"up", "down", "left", "right", "home", "end", "page-up", "page-down", "delete"}


class KeyReader:
    """Takes bytes; returns key names (`Up`, `C-u`), single characters and whole pastes (`paste:…`)."""

    def __init__(self) -> None:
        self._decoder = KeyDecoder()
        self.left: list[int] = []  # of the bytes fed last, how many came after each key

    def feed(self, data: bytes) -> list[str]:
        keys: list[str] = []
        self.left = []
        for kind, value, start, end in self._decoder.decode(data):
            if kind == TEXT:
                self._add_text(keys, value, len(data) - start, len(data) - end)
            elif name := f"paste:{value}" if kind == PASTE else _name(kind, value):
                keys.append(name)
                self.left.append(len(data) - end)
        if self._decoder.pending == b"\x1b":  # no need to wait: the relay does not cut sequences there
            self._decoder.settle()
            keys.append("Escape")
            self.left.append(0)
        return keys

    def _add_text(self, keys: list[str], text: str, left: int, after: int) -> None:
        plain = left - after == len(text.encode())  # and not one key that kitty encodes
        for char in text:
            left -= len(char.encode())
            keys.append(char)
            self.left.append(left if plain else after)


def _name(kind: str, value: str) -> str:
    if kind not in (KEY, MOUSE):
        return ""
    base = value.rpartition("ctrl-")[2].rpartition("alt-")[2].rpartition("shift-")[2]
    name = _NAMES.get(base if base in _WITH_ANY_MODIFIER else value, "")
    return name or (f"C-{value[5:]}" if len(value) == 6 and value.startswith("ctrl-") else "")


@dataclass(eq=False, repr=False)
class AnswerLine:
    """`secret`: the text is not shown; `may_be_empty`: Enter alone is an answer."""

    text: str = ""
    secret: bool = False
    may_be_empty: bool = False
    answer: str | None = None  # set when the line is finished and is to be sent

    def press(self, key: str) -> bool:
        if key in ("Escape", "C-c"):
            return True
        if key == "Enter":
            self.answer = self.text if self.text or self.may_be_empty else None
            return True
        if key == "Backspace":
            self.text = self.text[:-1]
        elif key in ("C-u", "C-w"):
            words = self.text.rstrip().rpartition(" ")
            self.text = "" if key == "C-u" else words[0] + words[1]
        elif key.startswith("paste:"):
            self.text += " ".join(for_cells(key[6:]).split("\n"))
        elif len(key) == 1 and key.isprintable():
            self.text += key
        return False

    def lines(self, columns: int) -> Lines:
        typed = "•" * len(self.text) if self.secret else for_cells(self.text)
        while len(typed) > 1 and cells.width(typed) > columns - 12:
            typed = typed[1:]
        return [[("answer › ", markdown.HEADING), (typed, markdown.STRONG), (" ", "0;7")]]

    @property
    def hints(self) -> list[tuple[str, str]]:
        enter = "send" if self.text else "send an empty answer" if self.may_be_empty else ""
        return [*([("Enter", enter)] if enter else []), ("Esc", "back")]
