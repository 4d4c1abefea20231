"""Decodes what a human's terminal sends into keys, wherever the reads cut the bytes. Pure.

An event is `(kind, value, start, end)`. Its bytes are `data[start:end]`; a negative start means that it began
in an earlier read. The kinds and their values:

TEXT    typed text
PASTE   the text of a bracketed paste
KEY     a key's name: `enter`, `ctrl-u`, `alt-left`, `ctrl-alt-x`, `f5`. The legacy encoding of a key, xterm's
        modifyOtherKeys and kitty's `CSI u` give the same name.
MOUSE   `click`, `wheel-up`, `wheel-down`, or "" for motion and releases
SILENT  a key that was released, or a modifier key by itself
REPORT  what the terminal sends by itself: focus changes and answers to queries. A CSI report has its
        parameters and final byte as value (`24;80R`).
OTHER   anything else
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Event = tuple[str, str, int, int]
    Meaning = tuple[str, str]

TEXT, PASTE, KEY, MOUSE, SILENT = "text", "paste", "key", "mouse", "silent"
REPORT, OTHER = "report", "other"
PASTE_LIMIT = 4_000_000  # bytes of a paste that are kept

_PASTE_END = b"\x1b[201~"
_TOKEN = re.compile(
    rb"(?P<text>[\x20-\x7e\x80-\xff]+)"
    rb"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    rb"|\x1b\[M(?P<mouse>...)"
    rb"|\x1b\[\[(?P<console>[A-E])"
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
_DROPPED = re.compile(r"[\x00-\x08\x0b-\x1f]")  # from a paste

_SHIFT, _ALT, _CTRL, _CAPS_LOCK = 1, 2, 4, 64
_LOCKS = ~0xC0  # Caps Lock and Num Lock do not change which key it is
_CONTROL = {0x00: "ctrl-space", 0x08: "backspace", 0x09: "tab", 0x0D: "enter", 0x7F: "backspace"} | {
    byte: f"ctrl-{chr(byte | 0x40).lower()}" for byte in (*range(1, 8), *range(10, 13), *range(14, 0x20))
}
_FINAL = {
    "A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "P": "f1", "Q": "f2",
    "S": "f4",
}  # fmt: skip
_KEYPAD = {"M": "enter", "I": "tab", "R": "f3", **_FINAL}
_TILDE = {
    "1": "home", "2": "insert", "3": "delete", "4": "end", "5": "page-up", "6": "page-down", "7": "home",
    "8": "end", "11": "f1", "12": "f2", "13": "f3", "14": "f4", "15": "f5", "17": "f6", "18": "f7",
    "19": "f8", "20": "f9", "21": "f10", "23": "f11", "24": "f12",
}  # fmt: skip
_CODES = {
    9: "tab", 13: "enter", 27: "esc", 127: "backspace", 57352: "up", 57353: "down", 57354: "page-up",
    57355: "page-down", 57356: "home", 57357: "end", 57414: "enter", 57417: "left", 57418: "right",
    57419: "up", 57420: "down", 57421: "page-up", 57422: "page-down", 57423: "home", 57424: "end",
    57425: "insert", 57426: "delete",
}  # fmt: skip
_KEYPAD_TEXT = dict(zip(range(57399, 57414), "0123456789./*-+", strict=True)) | {57415: "=", 57416: ","}
_FUNCTION_KEYS = range(57344, 63744)  # kitty's private code points


class KeyDecoder:
    """A lone ESC is a key only if nothing follows it: while `pending` is not empty, wait and call `settle`.

    A paste longer than half of `paste_limit` bytes is reported as OTHER.
    """

    def __init__(self, paste_limit: int = PASTE_LIMIT) -> None:
        self.pending = b""  # the beginning of a sequence
        self.in_paste = False
        self._pasted = bytearray()
        self._paste_limit = paste_limit

    def decode(self, data: bytes) -> Iterator[Event]:
        """The events in `data`. A caller that stops the iteration early feeds the rest of `data` again."""
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
        """No more bytes came: the pending ones are a key, if they can be one."""
        if len(self.pending) > 2 or self.pending[:1] != b"\x1b":
            return []
        alone, self.pending = self.pending == b"\x1b", b""
        return [(KEY, "esc") if alone else (OTHER, "")]

    def _paste(self, buffer: bytes, at: int) -> int:
        """Where the paste ends in `buffer`. The reads may cut its end marker too."""
        seen = max(len(self._pasted) - len(_PASTE_END) + 1, 0)
        used = len(self._pasted)
        self._pasted += buffer[at:] if at else buffer
        end = self._pasted.find(_PASTE_END, seen)
        if end < 0:
            if len(self._pasted) > self._paste_limit:  # too long to be of use: only its end matters
                del self._pasted[self._paste_limit // 2 : -len(_PASTE_END)]
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
        if len(pasted) >= self._paste_limit // 2:
            return OTHER, "", end, end
        return PASTE, _DROPPED.sub("", text.replace("\r\n", "\n").replace("\r", "\n")), end, end


def _text(run: bytes, may_go_on: bool) -> Iterator[tuple[str, str, int]]:
    """The pieces of a run of text and their lengths. A piece without a kind is an incomplete character."""
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
        return KEY, _CONTROL[body[0]]
    if group == "csi":
        return _csi(body.decode("ascii"))
    if group == "ss3":
        return _named(_KEYPAD.get(body.decode("ascii")), 0, body)
    if group == "mouse":
        return _mouse(body[0] - 32)
    if group == "string":
        return REPORT, ""
    if group == "esc":
        return KEY, "esc"
    if group == "console":
        return KEY, f"f{body[0] - 0x40}"
    if body >= b"\x80":
        return OTHER, ""
    return _named(_CONTROL.get(body[0]) or body.decode("ascii"), _ALT, body)


def _named(name: str | None, held: int, body: bytes | str) -> Meaning:
    if not name or held < 0:
        return OTHER, body if isinstance(body, str) else body.decode("latin-1")
    if not held:
        return KEY, name
    ctrl = held & _CTRL or name.startswith("ctrl-")
    prefix = ("ctrl-" if ctrl else "") + ("alt-" if held & _ALT else "") + ("shift-" if held & _SHIFT else "")
    return KEY, f"{'super-' if held & 0x38 else ''}{prefix}{name.removeprefix('ctrl-')}"


@lru_cache(256)  # few keys make up most of what is typed
def _csi(body: str) -> Meaning:
    parameters, final = body[:-1], body[-1]
    lead = parameters[:1]
    if lead == "<":
        button = _number(parameters[1:].partition(";")[0])
        return _mouse(button, final) if button >= 0 and final in "Mm" else (OTHER, body)
    if (lead and lead in "?>=") or (parameters and parameters[-1] < "0"):
        return REPORT, body
    if (not parameters and final in "IO") or (parameters and final in "cRntx"):
        return REPORT, body
    if body == "200~":
        return PASTE, ""
    fields = parameters.split(";")
    modifiers, _, event = (fields[1] if len(fields) > 1 else "").partition(":")
    if event == "3":
        return SILENT, ""
    bits = _number(modifiers or "1") - 1
    if final == "u":
        return _coded(fields[0], bits, fields[2] if len(fields) > 2 else "", body)
    if final == "~" and fields[0] == "27" and len(fields) == 3:  # xterm's modifyOtherKeys
        return _coded(fields[2], bits, "", body)
    if parameters and final == "M":  # urxvt's mouse reports
        button = _number(fields[0])
        return _mouse(button - 32) if button >= 0 else (OTHER, body)
    if final == "Z":
        return KEY, "shift-tab"
    return _named(_TILDE.get(fields[0]) if final == "~" else _FINAL.get(final), bits & _LOCKS, body)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 8 else -1


def _mouse(button: int, final: str = "M") -> Meaning:
    """Only a press can move the text cursor."""
    if final == "m" or button & 32 or (button < 64 and button & 3 == 3):
        return MOUSE, ""
    if button & 64:
        return MOUSE, {64: "wheel-up", 65: "wheel-down"}.get(button, "")
    return MOUSE, "click"


def _coded(code: str, bits: int, text: str, body: str) -> Meaning:
    """A key as its code point and kitty's modifiers. `text` is what kitty says the key types."""
    plain, _, others = code.partition(":")
    number, held = _number(plain), bits & _LOCKS
    if bits < 0:
        return OTHER, body
    if number in _CODES:
        return _named(_CODES[number], held & ~_SHIFT if number == 127 else held, body)
    if number in _FUNCTION_KEYS:
        if number in _KEYPAD_TEXT and not held & ~_SHIFT:
            return TEXT, _KEYPAD_TEXT[number]
        is_modifier = number >= 57427 or 57358 <= number < 57364
        return (SILENT, "") if is_modifier else (OTHER, body)
    if not held & ~_SHIFT:
        typed = _typed(number, bits, others.partition(":")[0], text)
        return (TEXT, typed) if typed else (OTHER, body)
    if not _is_character(number):
        return OTHER, body
    char = chr(number)
    if held == _CTRL and "a" <= char.lower() <= "z" and char not in "mM":
        return KEY, _CONTROL[ord(char.lower()) - 0x60]
    if held & _CTRL and char in " @":
        char = "space"
    return _named(char.lower() if held & _CTRL else char, held, body)


def _typed(code: int, bits: int, shifted: str, text: str) -> str:
    """What a key types: as the terminal says, or derived from the code point."""
    points = [_number(part) for part in text.split(":")]
    if all(map(_is_character, points)):
        return "".join(map(chr, points))
    if not _is_character(code):
        return ""
    if bits & _SHIFT and _is_character(_number(shifted)):
        return chr(int(shifted))
    return chr(code).upper() if bool(bits & _SHIFT) != bool(bits & _CAPS_LOCK) else chr(code)


def _is_character(code: int) -> bool:
    return 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF
