"""The two keys that detach an attached terminal, in whichever way the terminal encodes them."""

import re

_KITTY = re.compile(rb"\x1b\[(\d+)(?::\d*)*(?:;(\d+)(?::(\d+))?)?(?:;[\d:]*)?u|\x1b\[27;(\d+);(\d+)~")


class Chord:
    """Keys pass through; the second key of the chord, right after the first, is reported and not passed.

    The first key twice passes it on once.
    """

    def __init__(self, first: bytes, second: bytes) -> None:
        self._first = first
        self._second = second
        self._armed = False
        self._held = b""  # the first key as it came
        self.rest = b""  # what came after a complete chord

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """What to pass on, and whether the chord is complete."""
        out = bytearray()
        while data:
            key, raw, data = self._next(data)
            if key == b"":  # a release event: belongs to the key before it
                if self._armed:
                    self._held += raw
                else:
                    out += raw
            elif not self._armed:
                if key == self._first:
                    self._armed, self._held = True, raw
                else:
                    out += raw
            else:
                self._armed = False
                if key == self._second:
                    self.rest = data
                    return bytes(out), True
                if key != self._first:
                    out += self._held
                out += raw
        return bytes(out), False

    def _next(self, data: bytes) -> tuple[bytes, bytes, bytes]:
        """One key as legacy bytes, as it came, and the rest. Runs of other bytes come as one key."""
        match = _KITTY.match(data)
        if match:
            code, modifiers, event, other_modifiers, other_code = match.groups()
            number = int(code or other_code)
            bits = int(modifiers or other_modifiers or 1) - 1 & ~0xC0  # caps and num lock do not count
            raw = match.group()
            return b"" if event == b"3" else _legacy(number, bits), raw, data[len(raw) :]
        if data[:1] == b"\x1b" or self._armed or data[:1] == self._first:
            cut = 1 if data[:1] != b"\x1b" else max(data.find(b"\x1b", 1), 0) or len(data)
            return data[:cut], data[:cut], data[cut:]
        stops = [i for i in (data.find(b"\x1b"), data.find(self._first)) if i >= 0]
        cut = min(stops) if stops else len(data)
        return data[:cut], data[:cut], data[cut:]


def _legacy(code: int, bits: int) -> bytes:
    if bits == 4 and 0x40 <= code < 0x80:
        return bytes([code & 0x1F])
    if bits == 0 and code < 0x110000:
        return chr(code).encode("utf-8", "replace")
    return b"\xff"  # some other key
