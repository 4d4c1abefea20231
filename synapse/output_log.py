"""What an agent has written, rendered, as a file that grows: lines are added when they have settled."""

import os

ROTATE_AT = 5 * 1024 * 1024


class OutputLog:
    """Given the rendered contents from time to time; a line is settled when it stands above the cursor and
    two looks in a row found it the same. The live part of a full-screen program settles at its end."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._written: list[str] = []  # of the present contents, what is in the file
        self._seen: list[str] = []

    def look(self, lines: list[str], above_cursor: int) -> bool:
        """Whether another look is worth it: something changed since the last, or is not written yet."""
        self._follow_scrollback(lines)
        kept = _common(self._written, lines)
        del self._written[kept:]  # the screen was cleared or rewritten from here on
        stable = min(_common(self._seen, lines), above_cursor)
        self._append(lines[kept:stable])
        changed, self._seen = lines != self._seen, lines
        return changed

    def end(self, lines: list[str]) -> None:
        """The last look: nothing will change any more."""
        self._follow_scrollback(lines)
        kept = _common(self._written, lines)
        self._append(lines[kept:])

    def _follow_scrollback(self, lines: list[str]) -> None:
        """Lines that have left the scrollback at its far end are written and done with."""
        head = lines[:16]
        for known in (self._written, self._seen):
            if known and head and known[0] != head[0]:
                for index in range(1, len(known)):
                    overlap = known[index : index + 16]
                    if overlap == head[: len(overlap)]:
                        del known[:index]
                        break

    def _append(self, lines: list[str]) -> None:
        if not lines:
            return
        self._written += lines
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
