"""Fenced code in Markdown, line by line, as CommonMark defines it.

Written by hand for replies that are parsed while they arrive: markdown-it needs the whole text again for each
line, and 2.1 s a MB where this needs 0.4 s. `terminal/commonmark.py` uses the same definition of a fence.
"""

import re
from typing import NamedTuple

# A heading or a rule ends a paragraph, and so the list items that it is not indented for.
_INTERRUPTS = re.compile(r"#{1,6}(?:[ \t]|$)|(?:-[ \t]*){3,}$|(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$")
_FENCE = re.compile(r"(?:(`{3,}+)([^`]*)|(~{3,}+)(.*))\Z", re.DOTALL)
_MARKER = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?:([ \t]+)|\Z)")
_STARTS = frozenset("`~-+*0123456789")
_BLANK = " \t"


class Fence(NamedTuple):
    before: str  # the marker of a list item that begins with the fence
    mark: str
    indent: int
    last_column: int  # in which it can be closed
    language: str
    info: str  # what follows the language

    def is_closed_by(self, line: str) -> bool:
        if self.mark not in line:
            return False
        body = line.strip(_BLANK)
        return body == self.mark[0] * len(body) and _column(line[: line.index(body)]) <= self.last_column

    def content(self, line: str) -> str:
        column = index = 0
        while column < self.indent and line[index : index + 1] in (" ", "\t"):
            column = _column(line[index], column)
            index += 1
        return " " * (column - self.indent) + line[index:]


class FenceFinder:
    """Finds opening fences in the lines outside of code. While no list item is open, it needs only the lines
    that may begin an item or a fence.

    It follows list items, since a fence in an item is indented with its text. Code in an item lasts until its
    fence is closed: agents often forget to indent it.
    """

    def __init__(self) -> None:
        self._items: list[int] = []  # the columns at which the text of the open list items begins
        self._paragraph = False  # whether the line before can go on without indentation

    @property
    def is_in_list(self) -> bool:
        return bool(self._items)

    def opening(self, line: str) -> Fence | None:
        body = line.lstrip(_BLANK)
        if not body:
            self._paragraph = False
            return None
        start = len(line) - len(body)
        column = _column(line[:start])
        if _INTERRUPTS.match(body) and column - self._base(column) <= 3:
            self._leave_items(column)
            self._paragraph = False
            return None
        if not self._paragraph:
            self._leave_items(column)
        fence = self._after_markers(line, start, column) if body[0] in _STARTS else None
        self._paragraph = fence is None
        return fence

    def interrupt(self) -> None:
        """The next line does not continue a paragraph."""
        self._paragraph = False

    def _after_markers(self, line: str, start: int, column: int) -> Fence | None:
        """A line may begin several list items, one in another, and the innermost with a fence."""
        while match := _MARKER.match(line, start):
            if column - self._leave_items(column) > 3:
                return None
            blank = match[1] or ""
            end = column + match.end() - start - len(blank)
            start, column = match.end(), _column(blank, end)
            self._items.append(column if end < column <= end + 4 else end + 1)
        if not _FENCE.match(line, start):
            return None
        return fence_at(line, start, column, base=self._leave_items(column))

    def _leave_items(self, column: int) -> int:
        """End the list items that begin after `column`. Returns where the innermost of the others begins."""
        while self._items and self._items[-1] > column:
            self._items.pop()
        return self._base(column)

    def _base(self, column: int) -> int:
        """Where the text of the innermost list item begins that a line at `column` can belong to."""
        return next((item for item in reversed(self._items) if item <= column), 0)


def fence_at(line: str, start: int, column: int, base: int) -> Fence | None:
    """The fence that begins at `start`, in `column`, where the text around it begins at the column `base`."""
    match = _FENCE.match(line, start)
    if not match or column - base > 3:
        return None
    language, *info = (match[2] or match[4] or "").strip().split(maxsplit=1) or [""]
    return Fence(line[:start], match[1] or match[3], column, base + 3, language, "".join(info))


def _column(blank: str, start: int = 0) -> int:
    """The column after blanks that begin at a column: tabs stop at every fourth."""
    if "\t" not in blank:
        return start + len(blank)
    return start - start % 4 + len((" " * (start % 4) + blank).expandtabs(4))
