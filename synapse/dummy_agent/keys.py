"""Bytes from a terminal into keys, wherever the reads cut them.

An event is `("text", "a")`, `("paste", "whole text")` or `("key", "ctrl-u")`. A lone ESC is a key only once
nothing follows it: while `undecided`, wait a moment and call `settle`.
"""

import codecs

Event = tuple[str, str]

ESCAPE_TIMEOUT = 0.05
_PASTE_END = b"\x1b[201~"
_CONTROL = {"h": "backspace", "i": "tab", "j": "newline", "m": "enter", "[": "esc"}
_FINAL = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_TILDE = {"1": "home", "3": "delete", "4": "end", "7": "home", "8": "end"}
_CODES = {9: "tab", 13: "enter", 27: "esc", 127: "backspace", 57414: "enter"}


class Decoder:
    def __init__(self) -> None:
        self._state = "ground"
        self._held = bytearray()
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def undecided(self) -> bool:
        return self._state == "esc"

    def settle(self) -> list[Event]:
        """Nothing followed a lone ESC, so it was the Escape key."""
        if self._state != "esc":
            return []
        self._state = "ground"
        return [("key", "esc")]

    def feed(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        position = 0
        while position < len(data):
            if self._state == "paste":
                position = self._paste(data, position, events)
                continue
            getattr(self, f"_in_{self._state}")(data[position], events)
            position += 1
        return events

    def _paste(self, data: bytes, position: int, events: list[Event]) -> int:
        before = len(self._held)
        self._held += data[position:]
        end = self._held.find(_PASTE_END, max(0, before - len(_PASTE_END)))
        if end < 0:
            return len(data)
        text = self._held[:end].decode("utf-8", "replace")
        events.append(("paste", text.replace("\r\n", "\n").replace("\r", "\n")))
        used = end + len(_PASTE_END) - before
        self._state = "ground"
        self._held.clear()
        return position + used

    def _in_ss3(self, byte: int, events: list[Event]) -> None:
        self._state = "ground"
        events += _named(_FINAL.get(chr(byte)) or ("enter" if byte == 0x4D else None))

    def _in_ground(self, byte: int, events: list[Event]) -> None:
        if byte >= 0x80:
            events += [("text", char) for char in self._utf8.decode(bytes((byte,)))]
            return
        events += [("text", char) for char in self._utf8.decode(b"", final=True)]
        self._utf8.reset()
        if byte == 0x1B:
            self._state = "esc"
        elif byte == 0x7F:
            events.append(("key", "backspace"))
        elif byte >= 0x20:
            events.append(("text", chr(byte)))
        elif 0 < byte <= 0x1A:
            events += _control(chr(byte + 0x60))

    def _in_esc(self, byte: int, events: list[Event]) -> None:
        self._state = "ground"
        if byte == 0x1B:
            events.append(("key", "esc"))
            self._state = "esc"
        elif byte == 0x5B:
            self._start("csi")
        elif byte == 0x4F:
            self._state = "ss3"
        elif byte in b"]P_^":
            self._start("string")
        elif byte in b"\r\n":
            events.append(("key", "newline"))
        elif 0x20 <= byte < 0x7F:
            events.append(("key", f"alt-{chr(byte)}"))
        else:
            events.append(("key", "esc"))
            self._in_ground(byte, events)

    def _start(self, state: str) -> None:
        self._state = state
        self._held.clear()

    def _in_csi(self, byte: int, events: list[Event]) -> None:
        if 0x20 <= byte <= 0x3F:
            self._held.append(byte)
            return
        self._state = "ground"
        if not 0x40 <= byte <= 0x7E:
            self._in_ground(byte, events)
            return
        held = self._held.decode("ascii")
        if held == "200" and byte == 0x7E:
            self._start("paste")
            return
        events += _csi(held, chr(byte))

    def _in_string(self, byte: int, events: list[Event]) -> None:
        if byte == 0x07 or (byte == 0x5C and self._held.endswith(b"\x1b")):
            self._state = "ground"
        self._held[:] = bytes((byte,))


def _named(name: str | None) -> list[Event]:
    return [("key", name)] if name else []


def _control(letter: str) -> list[Event]:
    return [("key", _CONTROL.get(letter) or f"ctrl-{letter}")]


def _csi(held: str, final: str) -> list[Event]:
    fields = held.split(";")
    modifiers, _, kind = (fields[1] if len(fields) > 1 else "").partition(":")
    if kind == "3":  # a key let go, as kitty reports it
        return []
    if final in _FINAL:
        return _named(_FINAL[final])
    if final == "~" and fields[0] == "27" and len(fields) == 3:  # xterm's modifyOtherKeys
        return _coded(fields[2], modifiers)
    if final == "~":
        return _named(_TILDE.get(fields[0]))
    if final == "u":
        return _coded(fields[0].partition(":")[0], modifiers)
    return []


def _coded(code: str, modifiers: str) -> list[Event]:
    """A key as its code point and kitty's modifiers: 1 + shift 1, alt 2, ctrl 4."""
    if not code.isdigit() or not (modifiers or "1").isdigit() or len(code) > 7 or len(modifiers) > 3:
        return []
    number = int(code)
    held = max(0, int(modifiers or "1") - 1) & 7
    if number in _CODES:
        name = _CODES[number]
        return _named("newline" if name == "enter" and held else name)
    if not (0x20 <= number < 0xD800 or 0xF900 <= number < 0x110000):  # between: kitty's function keys
        return []
    char = chr(number)
    if held & 4:
        return _control(char.lower()) if char.isascii() and char.isalpha() else []
    if held & 2:
        return [("key", f"alt-{char}")]
    return [("text", char.upper() if held & 1 else char)]
