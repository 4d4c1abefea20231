"""What an agent has written, rendered, as a file that grows: lines are added when they have settled."""

import os

ROTATE_AT = 5 * 1024 * 1024
FULL = 500_000  # cells, half of what the scrollback keeps: look now, or lines will be gone
OVERLAP = 8  # lines that two looks must have in common to be told apart from two screens


class OutputLog:
    """Given the rendered contents from time to time; a line is settled when it stands above the cursor and
    two looks in a row found it the same, or when it has left the scrollback. The live part of a full-screen
    program settles at its end. Where more came than the scrollback keeps, the file says how much."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: list[str] = []
        self._written = 0  # of the lines seen, how many are in the file
        self._above_cursor = 0
        self._line_feeds = 0  # since the last look
        self._cells = 0  # that these may have pushed up, at the most

    def feed(self, data: bytes, cols: int) -> None:
        """What the agent writes to its main screen."""
        line_feeds = data.count(b"\n")
        self._line_feeds += line_feeds
        self._cells += line_feeds * cols + len(data)

    @property
    def is_filling(self) -> bool:
        """Whether lines may soon leave the scrollback that nobody has looked at."""
        return self._cells >= FULL

    def look(self, lines: list[str], above_cursor: int) -> bool:
        """Whether another look is worth it: something changed since the last, or is not written yet."""
        self._follow_scrollback(lines)
        same = _common(self._seen, lines)
        kept = min(self._written, same)  # the screen was cleared or rewritten from here on
        settled = max(kept, min(same, above_cursor))
        self._append(lines[kept:settled])
        changed = lines != self._seen
        self._seen, self._written, self._above_cursor = lines, settled, above_cursor
        return changed

    def end(self, lines: list[str]) -> None:
        """The last look: nothing will change any more."""
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
        """How many of the lines seen are no longer there; None when there is nothing to tell it by."""
        seen, head = self._seen, lines[:OVERLAP]
        expected = len(seen) + came - len(lines)
        if 0 < expected < self._above_cursor:  # tells even lines that are all alike
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
    """How many lines two lists have in common from the start."""
    if a == b[: len(a)]:
        return len(a)
    for index, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return index
    return min(len(a), len(b))
