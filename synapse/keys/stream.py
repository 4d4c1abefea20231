"""Keys together with the bytes they came as, for code that passes most of them on."""

from __future__ import annotations

import re
import time

from synapse.keys.decoder import PASTE, KeyDecoder
from synapse.keys.typed import ESCAPE_TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Piece = tuple[str, str, bytes]

PART = "part"  # a part of a sequence whose beginning was passed on before its end came
NUMBERED = re.compile(rb"\x1b\[[0-9][0-9;:]{0,62}")  # only the rest of the sequence can follow these bytes
STARTED = re.compile(rb"\x1b(?:\[[0-9;:]{0,63})?")
SEQUENCE = re.compile(rb"\x1b[\[O\]P_^X].{0,4096}", re.DOTALL)


class KeyStream:
    """Cuts bytes into pieces `(kind, value, bytes)`. All pieces together are the bytes that were fed.

    An incomplete sequence is held back until its end comes if it matches `held_back`; any other is passed on
    at once. The bytes of a paste are PASTE pieces without a value.
    """

    def __init__(
        self, held_back: re.Pattern[bytes] = NUMBERED, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._decoder = KeyDecoder(paste_limit=0)
        self.held_back = held_back
        self._clock = clock
        self._begun_at = 0.0  # when a sequence that was passed on began
        self.held = b""
        self.rest = 0  # bytes of the last read that come after the piece just returned

    @property
    def idle(self) -> bool:
        return not self._decoder.pending and not self._decoder.in_paste

    @property
    def ends_in_escape(self) -> bool:
        return self._decoder.pending == b"\x1b"

    def forget_escape(self) -> None:
        """The caller takes that ESC for the Escape key."""
        self._decoder.settle()

    def release(self) -> bytes:
        """What is held back, to be passed on: its end has not come."""
        held, self.held, self._begun_at = self.held, b"", self._clock()
        return held

    def feed(self, data: bytes) -> Iterator[Piece]:
        """A caller that stops the iteration early feeds the last `rest` bytes again."""
        decoder = self._decoder
        if decoder.pending and not self.held and self._clock() - self._begun_at > ESCAPE_TIMEOUT:
            decoder.settle()
        buffer, shift, at = self.held + data, len(self.held), 0
        self.held = b""
        for kind, value, start, end in decoder.decode(data):
            begin, end = start + shift, end + shift
            if begin > at:
                self.rest = len(buffer) - begin
                yield PASTE, "", buffer[at:begin]
                at = begin
            if end > at:
                self.rest = len(buffer) - end
                yield kind if begin >= 0 else PART, value, buffer[at:end]
                at = end
        self.rest = 0
        pending = decoder.pending
        if pending and len(pending) <= len(buffer) - at and self.held_back.fullmatch(pending):
            self.held = pending
        elif at < len(buffer):
            self._begun_at = self._clock()
            yield PART if pending else PASTE, "", buffer[at:]
