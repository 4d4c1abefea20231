"""Asks the human's terminal where its cursor is.

A shell's prompt is seldom in the first row, and code that draws over the screen must know which row is which.
The answer comes among the human's keys and is taken out of them here; everything else is passed on at once.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.keys.stream import KeyStream
    from synapse.relay.console import Console

ASK = b"\x1b[6n"
SLOW = 3.0  # seconds in which the terminal at the other end of a slow connection answers
LAST_TIMEOUT = 0.2  # seconds for the answer when the agent has already ended
ANSWER_TIMEOUT = 10.0  # seconds; an answer is ours after that too, unless it may be a key or the agent's
MODIFIED_F3 = range(2, 17)  # `CSI 1;2R` is Shift-F3, or the answer that the cursor is in the first row


class CursorQuery:
    """`tell` is called once for each answer, with row and column counted from 0."""

    def __init__(self, tell: Callable[[int, int], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._asked_at = 0.0
        self._stream: KeyStream | None = None
        self._due = 0  # answers
        self._asked_by_agent = False  # since our last query

    @property
    def awaited(self) -> bool:
        return self._due > 0

    def ask(self) -> bytes:
        self._due, self._asked_at, self._asked_by_agent = self._due + 1, self._clock(), False
        if self._stream is None:
            from synapse.keys.stream import KeyStream  # not while the agent starts: it imports `re`

            self._stream = KeyStream()
        return ASK

    @property
    def age(self) -> float:
        return self._clock() - self._asked_at

    @property
    def may_come(self) -> bool:
        """Whether an answer is due from a terminal that may give it soon."""
        return self.awaited and self.age < SLOW

    def agent_wrote(self, data: bytes) -> None:
        """Terminals answer in order, so ours comes before the agent's; but if ours is lost, the next is the
        agent's."""
        if self._due and ASK in data:
            self._asked_by_agent = True

    def take(self, data: bytes) -> bytes:
        if self._stream is None:
            return data
        is_late = self.age > ANSWER_TIMEOUT
        if is_late and self._asked_by_agent:
            self._due = 0
        if not self.awaited:
            held, self._stream = self._stream.held, None
            return held + data
        out = bytearray()
        for kind, value, raw in self._stream.feed(data):
            row, _, column = value[:-1].partition(";")
            is_position = kind == "report" and value[-1:] == "R" and row.isdecimal() and column.isdecimal()
            if not is_position or (is_late and row == "1" and int(column) in MODIFIED_F3):
                out += raw
                continue
            self._due -= 1
            self._tell(max(int(row) - 1, 0), max(int(column) - 1, 0))
            if not self._due:
                rest, self._stream = self._stream.rest, None
                return bytes(out) + data[len(data) - rest :]
        return bytes(out)

    def wait(self, console: Console) -> bytes:
        """Wait for the answers: otherwise they would be typed into the shell. Returns the keys between."""
        import select

        keys = b""
        until = self._clock() + (LAST_TIMEOUT if self.may_come else 0.0)
        while self.awaited and (left := until - self._clock()) > 0:
            if not select.select([console.in_fd], [], [], left)[0]:
                break
            data = console.read()
            if not data:
                break
            keys += self.take(data)
        return keys
