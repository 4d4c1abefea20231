"""Bytes of a human's terminal into keys, wherever the reads cut them. Pure.

An event is `(kind, value, start, end)`: its bytes are `data[start:end]`, where a negative start means that it
began in an earlier read. Text and pastes carry their text, keys a name such as `ctrl-u`. A REPORT is what the
terminal sends by itself, or a key let go. OTHER is a key that is not known here.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Event = tuple[str, str, int, int]
    Meaning = tuple[str, str]

TEXT, PASTE, KEY, REPORT, OTHER = "text", "paste", "key", "report", "other"
PASTE_LIMIT = 4_000_000  # bytes of a paste that are remembered

_PASTE_END = b"\x1b[201~"
_TOKEN = re.compile(
    rb"(?P<text>[\x20-\x7e\x80-\xff]+)"
    rb"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    rb"|\x1b\[M(?P<mouse>...)"
    rb"|\x1b\[(?P<console>\[[A-E])"
    rb"|\x1b\[(?P<csi>(?![M\[])[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e])"
    rb"|\x1bO(?P<ss3>[\x30-\x3b]*[\x40-\x7e])"
    rb"|\x1b[\]P_^X](?P<string>[\x20-\x7e\x80-\xff]*)(?:\x07|\x1b\\)"
    rb"|(?P<esc>\x1b)(?=\x1b)"
    rb"|\x1b(?P<alt>[^\x1b\[O\]P_^X])",
    re.DOTALL,
)
_PARTIAL = re.compile(
    rb"\x1b(?:\[(?:M.{0,2}|\[|[\x30-\x3f]*[\x20-\x2f]*)|O[\x30-\x3b]*|[\]P_^X][\x20-\x7e\x80-\xff]*\x1b?)?",
    re.DOTALL,
)
_CONTROL = {0x08: "backspace", 0x09: "tab", 0x0A: "linefeed", 0x0D: "enter", 0x7F: "backspace"}
_ALT = {"\r": "newline", "\n": "newline", "\x7f": "alt-backspace", "\x08": "alt-backspace"}
_FINAL = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_KEYPAD = {"M": "enter", "I": "tab", **_FINAL}
_TILDE = {
    "1": "home", "2": "insert", "3": "delete", "4": "end", "5": "page-up", "6": "page-down", "7": "home",
    "8": "end",
}  # fmt: skip
_CODES = {
    9: "tab", 13: "enter", 27: "esc", 127: "backspace", 57414: "enter", 57417: "left", 57418: "right",
    57419: "up", 57420: "down", 57421: "page-up", 57422: "page-down", 57423: "home", 57424: "end",
    57425: "insert", 57426: "delete",
}  # fmt: skip
_KEYPAD_TEXT = dict(zip(range(57399, 57414), "0123456789./*-+", strict=True)) | {57415: "=", 57416: ","}
_SHIFT, _ALTERNATE, _CTRL = 1, 2, 4
_CAPS_LOCK = 64


class KeyDecoder:
    """A lone ESC is a key only once nothing follows it: if `pending` stays, call `settle` after a moment."""

    def __init__(self) -> None:
        self.pending = b""  # the beginning of a sequence
        self.in_paste = False
        self._pasted = bytearray()

    def decode(self, data: bytes) -> Iterator[Event]:
        """Whoever stops in the middle feeds the rest again."""
        buffer, self.pending = self.pending + data, b""
        before = len(buffer) - len(data)
        at = 0
        while at < len(buffer):
            if self.in_paste:
                at = self._paste(buffer, at)
                if not self.in_paste:
                    yield self._end_of_paste(at - before)
                continue
            match = _TOKEN.match(buffer, at)
            if match is None:
                partial = _PARTIAL.match(buffer, at)
                assert partial is not None, "what is no token begins with ESC"
                if partial.end() == len(buffer) and len(buffer) - at < PASTE_LIMIT:
                    self.pending = buffer[at:]
                    return
                yield OTHER, "", at - before, partial.end() - before
                at = partial.end()
                continue
            end = match.end()
            if match.lastgroup == "text":
                for kind, text, size in _text(match["text"], end == len(buffer)):
                    if not kind:
                        self.pending = buffer[at:end]
                        return
                    yield kind, text, at - before, at + size - before
                    at += size
                continue
            kind, value = _meaning(match)
            if kind == PASTE:
                self.in_paste = True
            else:
                yield kind, value, at - before, end - before
            at = end

    def settle(self) -> list[Meaning]:
        """Nothing more came: what has begun was a key of its own, if it can be one."""
        if len(self.pending) > 2 or self.pending[:1] != b"\x1b":
            return []
        alone, self.pending = self.pending == b"\x1b", b""
        return [(KEY, "esc") if alone else (OTHER, "")]

    def _paste(self, buffer: bytes, at: int) -> int:
        """How far the paste goes; its end may be cut as well."""
        seen = max(len(self._pasted) - len(_PASTE_END) + 1, 0)
        used = len(self._pasted)
        self._pasted += buffer[at:] if at else buffer
        end = self._pasted.find(_PASTE_END, seen)
        if end < 0:
            if len(self._pasted) > PASTE_LIMIT:  # too long to be of use; only its end matters
                del self._pasted[PASTE_LIMIT // 2 : -len(_PASTE_END)]
            return len(buffer)
        del self._pasted[end:]
        self.in_paste = False
        return at + end + len(_PASTE_END) - used

    def _end_of_paste(self, end: int) -> Event:
        pasted, self._pasted = bytes(self._pasted), bytearray()
        try:
            text = pasted.decode()
        except UnicodeDecodeError:
            return OTHER, "", end, end
        if len(pasted) >= PASTE_LIMIT // 2:
            return OTHER, "", end, end
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return PASTE, "".join(c for c in text if c >= " " or c in "\n\t"), end, end


def _text(run: bytes, may_go_on: bool) -> Iterator[tuple[str, str, int]]:
    """Pieces of a run of text and how long each is; one with no kind is a character that is not yet whole."""
    at = 0
    while at < len(run):
        try:
            yield TEXT, run[at:].decode(), len(run) - at
            return
        except UnicodeDecodeError as error:
            if error.start:
                yield TEXT, run[at : at + error.start].decode(), error.start
                at += error.start
            elif may_go_on and error.reason == "unexpected end of data":
                yield "", "", 0
                return
            else:
                yield OTHER, "", error.end
                at += error.end


def _meaning(match: re.Match[bytes]) -> Meaning:
    group = match.lastgroup
    assert group is not None
    body = match[group]
    if group == "control":
        return _control(body[0])
    if group == "csi":
        return _csi(body.decode("ascii"))
    if group == "ss3":
        return _ss3(body.decode("ascii"))
    if group == "mouse":
        return _mouse(body[0] - 32, "M")
    if group == "string":
        return REPORT, ""
    if group == "esc":
        return KEY, "esc"
    if group == "alt" and body < b"\x80":
        letter = body.decode("ascii")
        return KEY, _ALT.get(letter) or f"alt-{letter}"
    return OTHER, ""


def _control(byte: int) -> Meaning:
    if byte in _CONTROL:
        return KEY, _CONTROL[byte]
    return (KEY, f"ctrl-{chr(byte + 0x60)}") if 0 < byte < 0x1B else (OTHER, "")


def _ss3(body: str) -> Meaning:
    name = _KEYPAD.get(body)
    return (KEY, name) if name else (OTHER, "")


def _csi(body: str) -> Meaning:
    parameters, final = body[:-1], body[-1]
    lead = parameters[:1]
    if lead == "<":
        button = parameters[1:].partition(";")[0]
        return _mouse(int(button), final) if button.isdecimal() and final in "Mm" else (OTHER, "")
    if (lead and lead in "?>=") or (parameters and parameters[-1] < "0"):
        return REPORT, ""  # answers to queries
    if (not parameters and final in "IO") or (parameters and final in "cRntx"):
        return REPORT, ""  # focus; more answers
    fields = parameters.split(";")
    modifiers, _, event = (fields[1] if len(fields) > 1 else "").partition(":")
    if event == "3":
        return REPORT, ""  # a key let go, as kitty reports it
    if parameters and final == "M":
        return _mouse(int(fields[0]) - 32, final) if fields[0].isdecimal() else (OTHER, "")
    if parameters == "200" and final == "~":
        return PASTE, ""
    bits = int(modifiers or "1") - 1 if (modifiers or "1").isdecimal() else -1
    if final == "u":
        return _coded(fields[0], bits, fields[2] if len(fields) > 2 else "")
    if final == "~" and fields[0] == "27" and len(fields) == 3:  # xterm's modifyOtherKeys
        return _coded(fields[2], bits, "")
    if final == "Z":
        return KEY, "backtab"
    name = _TILDE.get(fields[0]) if final == "~" else _FINAL.get(final)
    return _modified(name, bits & 0x3F) if name and bits >= 0 else (OTHER, "")


def _modified(name: str, bits: int) -> Meaning:
    if not bits:
        return KEY, name
    if name in ("left", "right") and bits in (_ALTERNATE, _CTRL):
        return KEY, f"word-{name}"
    if name in ("up", "down"):
        return KEY, name
    return OTHER, ""


def _mouse(button: int, final: str) -> Meaning:
    """A press may place the cursor; wheel, motion and release do not."""
    if final == "m" or button & (32 | 64) or button & 3 == 3:
        return REPORT, ""
    return KEY, "click"


def _coded(code: str, bits: int, text: str) -> Meaning:
    """A key as its code point and kitty's modifiers."""
    plain, _, others = code.partition(":")
    if not plain.isdecimal() or len(plain) > 7 or bits < 0:
        return OTHER, ""
    number, held = int(plain), bits & 0x3F
    if number in _CODES:
        return _coded_name(_CODES[number], held)
    if 57344 <= number < 63744:  # kitty's function keys
        if number in _KEYPAD_TEXT and not held & ~_SHIFT:
            return TEXT, _KEYPAD_TEXT[number]
        return (REPORT, "") if number >= 57427 or 57358 <= number < 57364 else (OTHER, "")  # Shift by itself
    if number < 0x20 or 0xD800 <= number < 0xE000 or number > 0x10FFFF:
        return OTHER, ""
    char = chr(number)
    if not held & ~_SHIFT:
        return TEXT, _shifted(char, bits, others.partition(":")[0], text)
    if held == _CTRL and "a" <= char.lower() <= "z" and char.lower() != "m":
        return (KEY, "newline") if char in "jJ" else _control(ord(char.lower()) - 0x60)
    if held == _ALTERNATE and char.isascii():
        return KEY, f"alt-{char}"
    return OTHER, ""


def _coded_name(name: str, held: int) -> Meaning:
    if name == "enter":
        if not held:
            return KEY, "enter"
        return (KEY, "newline") if held in (_SHIFT, _ALTERNATE) else (OTHER, "")
    if name == "backspace":
        if held == _ALTERNATE:
            return KEY, "alt-backspace"
        return (KEY, name) if not held & ~_SHIFT else (OTHER, "")
    if name == "tab" and held == _SHIFT:
        return KEY, "backtab"
    return _modified(name, held)


def _shifted(char: str, bits: int, shifted: str, text: str) -> str:
    """What the key types: said by the terminal, or worked out."""
    points = [int(part) for part in text.split(":") if part.isdecimal() and int(part) < 0xD800]
    if points and min(points) >= 0x20:
        return "".join(map(chr, points))
    if bits & _SHIFT and shifted.isdecimal() and 0x20 <= int(shifted) < 0xD800:
        return chr(int(shifted))
    return char.upper() if bool(bits & _SHIFT) != bool(bits & _CAPS_LOCK) else char
