"""The output log: the agent's rendered output as a file, to which lines are added when they have settled."""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from synapse.terminal.screen import Screen

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds between two looks
LOOKS_IN_BURST = 20  # until the output pauses: enough for 50,000 lines, which is what the log holds
ROTATE_AT = 5 * 1024 * 1024
FULL = 500_000  # cells, half of what the scrollback keeps: look now, or lines are lost
OVERLAP = 8  # lines that two looks must have in common; with fewer, the screen was replaced


class OutputLog:
    """It gets the rendered contents from time to time. A line has settled when it is above the cursor and two
    looks in a row found it unchanged, or when it has left the scrollback. The rest is written at the end. If
    more came than the scrollback keeps, the file says how many lines are missing."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: list[str] = []
        self._written = 0  # of the lines seen, how many are in the file
        self._above_cursor = 0
        self._line_feeds = 0  # since the last look
        self._cells = 0  # that these may have pushed up, at the most

    def feed(self, data: bytes, cols: int) -> None:
        line_feeds = data.count(b"\n")
        self._line_feeds += line_feeds
        self._cells += line_feeds * cols + len(data)

    @property
    def is_filling(self) -> bool:
        """Whether lines that were never read may soon leave the scrollback."""
        return self._cells >= FULL

    def look(self, lines: list[str], above_cursor: int) -> bool:
        """Write what has settled. Returns whether something changed since the last look."""
        self._follow_scrollback(lines)
        same = _common(self._seen, lines)
        kept = min(self._written, same)  # the screen was cleared or rewritten from here on
        settled = max(kept, min(same, above_cursor))
        self._append(lines[kept:settled])
        changed = lines != self._seen
        self._seen, self._written, self._above_cursor = lines, settled, above_cursor
        return changed

    def end(self, lines: list[str]) -> None:
        self._follow_scrollback(lines)
        kept = min(self._written, _common(self._seen, lines))
        self._append(lines[kept:])
        self._seen, self._written = lines, len(lines)

    def _follow_scrollback(self, lines: list[str]) -> None:
        """Lines that have left the scrollback at its far end are final."""
        came, overflowed = self._line_feeds, self._cells >= 2 * FULL
        self._line_feeds = self._cells = 0
        gone = self._how_many_left(lines, came)
        if gone is not None:
            self._append(self._seen[self._written : gone])
            self._seen, self._written = self._seen[gone:], max(self._written - gone, 0)
        elif overflowed and came > len(lines):
            self._append(self._seen[self._written : self._above_cursor])
            self._append([f"… {came - len(lines)} lines not kept"])
            self._seen, self._written = [], 0

    def _how_many_left(self, lines: list[str], came: int) -> int | None:
        """How many of the lines seen have left the scrollback; None if that cannot be determined."""
        seen, head = self._seen, lines[:OVERLAP]
        expected = len(seen) + came - len(lines)
        if 0 < expected < self._above_cursor:  # works even if all lines are alike
            overlap = seen[expected : self._above_cursor]
            if overlap == lines[: len(overlap)]:
                return expected
        if seen[:1] == head[:1]:
            return 0
        for index in range(1, len(seen) - OVERLAP + 1):
            if seen[index] == head[0] and seen[index : index + OVERLAP] == head:
                return index
        return None

    def _append(self, lines: list[str]) -> None:
        if not lines:
            return
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
            file.write("".join(line + "\n" for line in lines))
            size = file.tell()
        if size > ROTATE_AT:
            os.replace(self._path, self._path + ".1")


def _common(a: list[str], b: list[str]) -> int:
    if a == b[: len(a)]:  # the usual case, and much quicker
        return len(a)
    pairs = enumerate(zip(a, b, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(a), len(b)))


@dataclass(eq=False, repr=False)
class ScreenLog:
    """The host feature that reads the screen for the log. `later` is the loop's call_later."""

    log: OutputLog
    screen: Screen
    later: Callable[[float, Callable[[], None]], object]
    _due: bool = False
    _looks_left: int = LOOKS_IN_BURST

    def output(self, data: bytes) -> None:
        if self.screen.alternate_screen:
            return  # its lines never settle
        self.log.feed(data, self.screen.size[0])
        if self.log.is_filling and self._looks_left:
            self._looks_left -= 1
            self._look()
        self._look_later(LOOK_EVERY)

    async def close(self) -> None:
        try:
            self.log.end(self.screen.contents().split("\n"))
        except OSError as error:
            logger.warning("cannot write the output log: %s", error)

    def _look_later(self, seconds: float) -> None:
        if not self._due:
            self._due = True
            self.later(seconds, self._look_in_time)

    def _look_in_time(self) -> None:
        self._due = False
        started = time.perf_counter()
        if self._look():
            self._look_later(max(LOOK_EVERY, 50 * (time.perf_counter() - started)))
        else:
            self._looks_left = LOOKS_IN_BURST

    def _look(self) -> bool:
        if self.screen.alternate_screen:
            return False
        lines = self.screen.contents().split("\n")
        below = max(len(self.screen.text().split("\n")) - self.screen.cursor[1], 0)
        try:
            return self.log.look(lines, len(lines) - below)
        except OSError as error:
            logger.warning("cannot write the output log: %s", error)
            return False
