"""Two keys in a row, such as `Ctrl-] d`, in whichever way the terminal encodes them."""

from __future__ import annotations

import time

from synapse.keys.decoder import KEY, REPORT, SILENT, TEXT, KeyDecoder
from synapse.keys.stream import NUMBERED, PART, STARTED, KeyStream
from synapse.keys.typed import ESCAPE_TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from synapse.keys.decoder import Meaning
    from synapse.keys.stream import Piece

TIMEOUT = 2.0  # seconds after the first key in which the second must come
_ESCAPE = (KEY, "esc")


class Chord:
    """Keys pass through. The second key right after the first completes the chord, and neither is passed on.

    The first key pressed twice is passed on once. Keys inside a paste are text. Caps Lock does not matter.
    """

    def __init__(self, first: bytes, second: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = (_key(first), _key(second))
        self._first_byte = first[:1]
        self._stream = KeyStream(clock=clock)
        self._armed = False  # the first key was the last key
        self._held = b""  # its bytes
        self.rest = b""  # what came after a complete chord

    def is_free_of(self, data: bytes) -> bool:
        """Whether no part of a chord is in these keys or before them, as in nearly all."""
        return not self._armed and self._stream.idle and b"\x1b" not in data and self._first_byte not in data

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        stream = self._stream
        if self.is_free_of(data):
            return data, False
        out = bytearray()
        for kind, value, raw in self._pieces(data):
            if kind == PART and stream.ends_in_escape and self._keys[self._armed] == _ESCAPE:
                kind, value = _ESCAPE
                stream.forget_escape()
            if self._armed and kind == TEXT and self._keys[1] in ((TEXT, value[0]), (TEXT, value[0].lower())):
                # A key that kitty encodes is one piece, whatever it types.
                after = 0 if raw[:1] == b"\x1b" else len(raw) - len(value[0].encode())
                return self._complete(out, data, stream.rest + after)
            if self._take((kind, value), raw, out):
                return self._complete(out, data, stream.rest)
        return bytes(out), False

    def _pieces(self, data: bytes) -> Iterator[Piece]:
        """After the first key, the beginning of any sequence may be that of the second."""
        stream = self._stream
        for piece in stream.feed(data):
            yield piece
            stream.held_back = STARTED if self._armed and self._keys[1] != _ESCAPE else NUMBERED

    @property
    def patience(self) -> float | None:
        """How long to wait for the second key, after which `give_up` is called."""
        if not self._armed:
            return None
        return ESCAPE_TIMEOUT if self._stream.held in (b"\x1b", b"\x1b[") else TIMEOUT

    def give_up(self) -> bytes:
        """The first key, which was not followed by the second in time, and what has come of another."""
        if not self._armed:
            return b""
        self._armed, self._stream.held_back = False, NUMBERED
        return self._held + self._stream.release()

    def _take(self, key: Meaning, raw: bytes, out: bytearray) -> bool:
        first, second = self._keys
        if self._armed and key[0] == SILENT:
            self._held += raw  # belongs to the first key
        elif key[0] in (SILENT, REPORT) and key != first:
            out += raw
        elif not self._armed:
            if key == first:
                self._armed, self._held = True, raw
            else:
                out += raw
        elif key == second:
            return True
        else:
            self._armed = False
            out += raw if key == first else self._held + raw
        return False

    def _complete(self, out: bytearray, data: bytes, rest: int) -> tuple[bytes, bool]:
        self._armed, self._stream.held_back = False, NUMBERED
        self.rest = data[len(data) - rest :]
        return bytes(out), True


def _key(encoded: bytes) -> Meaning:
    decoder = KeyDecoder()
    events = [event[:2] for event in decoder.decode(encoded)] + decoder.settle()
    return events[0]
