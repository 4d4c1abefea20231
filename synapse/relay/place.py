"""Where the cursor stood in the human's terminal when the agent began to write: asked of the terminal itself.

A shell's prompt is seldom in the first row, and whoever draws over the screen has to know which row is which.
The answer comes among the human's keys and is taken out there; everything else passes at once.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ASK = b"\x1b[6n"
PATIENCE = 10.0  # seconds after which no answer is expected any more: it would be a key that looks like one
_BEGIN, _END = b"\x1b[", 0x52
_INSIDE = frozenset(b"0123456789;")


class Place:
    """`tell` is given row and column, counted from 0, once."""

    def __init__(self, tell: Callable[[int, int], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._asked_at = 0.0
        self._carry = b""
        self.awaited = False

    def ask(self) -> bytes:
        self.awaited, self._asked_at = True, self._clock()
        return ASK

    @property
    def age(self) -> float:
        """Seconds since it was asked."""
        return self._clock() - self._asked_at

    def take(self, data: bytes) -> bytes:
        """What the terminal sent, without the answer."""
        if self.age > PATIENCE:
            self.awaited = False
        data, self._carry = self._carry + data, b""
        start = data.find(_BEGIN) if self.awaited else -1
        while start >= 0:
            end = start + len(_BEGIN)
            while end < len(data) and data[end] in _INSIDE:
                end += 1
            numbers = data[start + len(_BEGIN) : end].split(b";")
            if end == len(data):
                if numbers[0]:  # no key ends like this
                    self._carry, data = data[start:], data[:start]
                break
            if data[end] == _END and len(numbers) == 2 and all(numbers):
                self.awaited = False
                self._tell(max(int(numbers[0]) - 1, 0), max(int(numbers[1]) - 1, 0))
                return data[:start] + data[end + 1 :]
            start = data.find(_BEGIN, end)
        return data
