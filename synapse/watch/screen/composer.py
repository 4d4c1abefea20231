"""What is in the agent's composer, as its screen shows it.

The prompt's glyph tells where the composer is, the cursor that it has the keys, and the style of its
cells tells a placeholder or a suggestion from typed text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from synapse.agents.look import Composer, Look
from synapse.keys import patterns
from synapse.keys.line_editor import INSERT, NORMAL
from synapse.profiles.fields import VimMode
from synapse.terminal.cells import char_width, width
from synapse.terminal.screen import Cell, Row, Screen
from synapse.terminal.styles import style_of, typed_text

EMPTY = "empty"
DRAFT = "draft"
DIALOG = "dialog"  # a question or a list has the keys
ABSENT = "absent"  # another program, an editor, a pager or a full-screen menu has the terminal
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Seen:
    """`text` is the draft, where the screen shows all of it; `why` is what was seen, for `synapse why`."""

    state: str
    text: str | None = None
    why: str = ""
    vim_mode: str = ""  # INSERT or NORMAL, of a CLI with vim keys

    @property
    def is_absent(self) -> bool:
        return self.state == ABSENT


NOT_LOOKED = Seen(UNKNOWN, why="the screen has not settled yet")
NOT_SEEN_YET = Seen(UNKNOWN, why="its composer has not been on the screen yet")
NO_COMPOSER = Seen(ABSENT, why="its composer is not on the screen")
OTHER_PAGE = Seen(ABSENT, why="a page or dialog of it with an input of its own is on the screen")
OTHER_PROGRAM = Seen(ABSENT, why="another program has the terminal")
ELSEWHERE = Seen(DIALOG, why="its composer is on the screen, but the cursor is not in it")

_SCROLLED = re.compile(r"[↑↓] \d+ more")  # in the edge of a box, for the rows that it does not show
_BLANK = " \u200b"  # a drawn cursor may have a zero-width space behind it

# Joined, flag and skin tone emoji: programs and terminals count their cells differently.
_UNSURE = re.compile("[\u200d\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")


@dataclass(frozen=True, slots=True)
class _Place:
    """The rows from `first` to before `end`; text begins at `column`; `mode` is a glyph that was typed."""

    box: Composer
    first: int
    end: int
    column: int
    mode: str
    right: int  # the column after its last
    partial: bool = False  # something else is between its rows and its edge
    scrolled: bool = False  # its edge says so


class ComposerReader:
    def __init__(self, look: Look, own: bool = True, vim_mode: VimMode | None = None) -> None:
        """`own`: the rules are the program's own, and not those of programs that it may look like."""
        self._vim_mode = vim_mode
        self._last_mode = ""
        self._boxes = [box for box in look.composers if not box.placeholder and (own or box.above)]
        self._own = own
        self.was_seen = False
        self._pasted = look.reply.placeholder

    def read(self, screen: Screen) -> Seen:
        text = screen.text()
        lines = text.split("\n")
        columns = screen.size[0]
        for box in self._boxes:
            place = _place(box, [line.ljust(columns) for line in lines], screen)
            if place is not None and box.unless and patterns.search(box.unless, text):
                return OTHER_PAGE
            if place is not None:
                rows = screen.rows(place.first, place.end)
                self.was_seen = True
                place = _bounded(place, rows, screen.cursor[1] - place.first)
                if place is None:
                    return ELSEWHERE
                seen = self._content(place, rows[: place.end - place.first], screen)
                self._last_mode = self._mode(text)
                return replace(seen, vim_mode=self._last_mode) if self._last_mode else seen
        if not self.was_seen or not self._own:
            return NOT_SEEN_YET
        return ELSEWHERE if any(_is_shown(box, lines) for box in self._boxes) else NO_COMPOSER

    def _mode(self, text: str) -> str:
        """The mode that the screen shows, or last showed: a list below the composer may hide it."""
        if self._vim_mode is None:
            return ""
        insert, normal = self._vim_mode.insert, self._vim_mode.normal
        if insert and patterns.search(insert, text):
            return INSERT
        may_be = bool(self._last_mode) or not self._vim_mode.after_insert
        return NORMAL if may_be and normal and patterns.search(normal, text) else self._last_mode

    def _content(self, place: _Place, rows: Sequence[Row], screen: Screen) -> Seen:
        column, row = screen.cursor
        room = place.right - place.column - place.box.margin
        typed = [typed_text(cells.cells[place.column : place.right]).rstrip(_BLANK) for cells in rows]
        at = row - place.first
        if 0 <= at < len(typed):  # blanks up to the cursor were typed
            typed[at] += " " * (column - place.column - width(typed[at]))
        while len(typed) > max(at + 1, 1) and not typed[-1] and len(rows) <= place.box.least:
            typed.pop()
        if not place.mode and not any(typed):
            return Seen(EMPTY, why="its composer is empty")
        if not place.mode and column == place.column and at == 0 and self._is_hint(typed, place.box):
            return Seen(EMPTY, why="its composer shows only its placeholder")
        if place.partial:
            return Seen(DRAFT, why="a list is above its composer")
        if place.scrolled or _may_scroll(place, screen):
            return Seen(DRAFT, why="its composer may show only a part of the draft")
        beside = (cell.text for cells in rows[1:] for cell in cells.cells[: place.column])
        if not place.box.repeats and any(text.strip(place.box.bar + place.box.edge + " ") for text in beside):
            return Seen(DRAFT, why="its composer shows more than a draft")
        whole = "\n".join(typed)
        if any(patterns.search(pattern, whole) for pattern in self._pasted):
            return Seen(DRAFT, why="its composer has a placeholder for pasted text")
        if _UNSURE.search(whole):
            return Seen(DRAFT, why="the draft has emoji whose width is not certain")
        if len(typed) > 1 and not self._own:
            return Seen(DRAFT, why="how its composer breaks lines is not known")
        text = joined(typed, room, at)
        if place.box.repeats and any(width(line) >= room for line in typed[:-1]):
            text = None
        if text is None:
            return Seen(DRAFT, why="which breaks of the draft are its own cannot be told")
        if not (place.mode + text).strip():
            return Seen(EMPTY, why="its composer has only blanks")
        return Seen(DRAFT, place.mode + text, "its composer has a draft")

    def _is_hint(self, typed: Sequence[str], box: Composer) -> bool:
        return bool(box.hint) and patterns.fullmatch(box.hint, " ".join(typed).strip()) is not None


def _place(box: Composer, lines: Sequence[str], screen: Screen) -> _Place | None:
    row = screen.cursor[1]
    if not 0 <= row < len(lines):
        return None
    if box.bar:
        return _behind_bar(box, lines, screen)
    if box.above:
        upper = next((n for n in range(row - 1, -1, -1) if patterns.match(box.above, lines[n])), None)
        below = box.below or box.above
        end = next((n for n in range(row + 1, len(lines)) if patterns.match(below, lines[n])), None)
        if upper is None or end is None:
            return None
        first = upper + 1
        while first < end and set(lines[first].strip()) == {lines[upper][0]}:  # a rule that was reflowed
            first += 1
        if first > row:
            return None
    else:
        if screen.cursor_visible == box.hidden_cursor:
            return None
        found = next((n for n in range(row, -1, -1) if patterns.match(box.first, lines[n])), None)
        if found is None:
            return None
        while box.repeats and found and patterns.match(box.first, lines[found - 1]):
            found -= 1
        first, end = found, len(lines)
    head = patterns.match(box.first, lines[first])
    if head is None:
        return None
    column = width(head[0])
    beside = (line[:column] for line in lines[first + 1 : row + 1])
    indented = box.repeats or not any(text.strip(f"{box.edge} ") for text in beside)
    if not indented or screen.cursor[0] < column:
        return None
    footer = lines[end + 1] if end + 1 < len(lines) else ""
    shell = "!" if box.mode and patterns.match(box.mode, footer) else ""
    mode, right = head.groupdict().get("mode") or shell, screen.size[0]
    if not box.edge:
        return _Place(box, first, end, column, mode, right)
    edges = lines[first - 1] + lines[end]
    right = width(lines[end].rstrip()) - 1
    return _Place(box, first, end, column, mode, right, scrolled=_SCROLLED.search(edges) is not None)


def _behind_bar(box: Composer, lines: Sequence[str], screen: Screen) -> _Place | None:
    """Its rows are those with the bar from a margin above the cursor to two rows above its lower edge."""
    column, row = screen.cursor
    head, edge = patterns.match(box.first, lines[row]), lines[row].find(box.bar)
    end = next((n for n in range(row + 1, len(lines)) if patterns.match(box.below, lines[n])), None)
    if head is None or end is None or column < width(head[0]):
        return None
    barred = [line[: edge + 1] == " " * edge + box.bar for line in lines]
    top = row
    while top and barred[top - 1]:
        top -= 1
    right = _end_of_run(lines[end], patterns.match(box.below, lines[end]))  # a sidebar may be beside it
    margins = [n for n in range(top, row) if not lines[n][edge + 1 : right].strip()]
    if not margins or not all(barred[row:end]) or row >= end - 2:
        return None
    partial = margins[0] != top
    first = (margins[-1] if partial else top) + 1
    mode = "!" if box.mode and patterns.match(box.mode, lines[end - 1][:right]) else ""
    return _Place(box, first, end - 2, width(head[0]), mode, right, partial)


def _end_of_run(line: str, begin: re.Match[str] | None) -> int:
    """The column after the characters that go on as the match ends."""
    if begin is None:
        return len(line)
    rest = line[begin.end() :]
    return begin.end() + len(rest) - len(rest.lstrip(line[begin.end() - 1]))


def _may_scroll(place: _Place, screen: Screen) -> bool:
    count, height = place.end - place.first, screen.size[1]
    if place.box.half and screen.alternate_screen and count >= max(height // 2 - 5, 3):
        return True
    return count >= (place.box.rows or height - 3)


def _is_shown(box: Composer, lines: Sequence[str]) -> bool:
    if box.bar:
        return any(patterns.match(box.below, line) for line in lines)
    return bool(box.above) and any(
        patterns.match(box.above, above) and patterns.match(box.first, first)
        for above, first in pairwise(lines)
    )


def _bounded(place: _Place, rows: Sequence[Row], cursor: int) -> _Place | None:
    """The end of a composer without rules: of its background, or else the first blank row below the cursor.

    `rows` begin with it, and `cursor` is one of them. None: the cursor is below the composer.
    """
    if place.box.above or place.box.bar:
        return place
    ground, end = _background(rows[0].cells[0]), cursor + 1
    if ground:
        if any(_background(row.cells[0]) != ground for row in rows[:end]):
            return None
        while end < len(rows) and _background(rows[end].cells[0]) == ground:
            end += 1
        if end > cursor + 1 and not _text(rows[end - 1].cells).strip():
            end -= 1  # the margin below the text
    else:
        blank = [not _text(row.cells).strip() for row in rows[:end]]
        if True in blank and any(_is_coloured(row) for row in rows[blank.index(True) : end]):
            return None
        while end < len(rows) and _text(rows[end].cells).strip():
            end += 1
    return replace(place, end=place.first + end)


def _is_coloured(row: Row) -> bool:
    styles = [style_of(cell.sgr) for cell in row.cells if cell.text.strip()]
    return any(style.colour or style.faint for style in styles)


def _background(cell: Cell) -> str:
    return style_of(cell.sgr).background


def _text(cells: Sequence[Cell]) -> str:
    return "".join(cell.text for cell in cells)


def joined(rows: Sequence[str], room: int, cursor: int) -> str | None:
    """The text that a composer of `room` cells shows as `rows`, or None if it could be more than one.

    A row ends where the next word did not fit, or with a line break. `cursor` is the row that has the cursor.
    """
    rows = list(rows)
    if len(rows) > 1 and cursor == len(rows) - 1 and not rows[-1] and width(rows[-2]) >= room:
        rows.pop()  # the text fills its last row: only the cursor is below it
    text, wraps, breaks = rows[0], 0, 0
    for before, after in pairwise(rows):
        gap = _gap(before, after, room)
        if gap is None:
            return None
        wraps += gap != "\n"
        breaks += gap == "\n"
        text += gap + after
    # A line break behind a full row looks like a wrapped row.
    return None if wraps and breaks else text


def _gap(before: str, after: str, room: int) -> str | None:
    """What is between two rows: a line break, a blank, or nothing; None if that cannot be told."""
    used, word = width(before), after.split(" ", 1)[0]
    is_wide = bool(word) and char_width(word[0]) == 2
    full = used >= room - is_wide
    if not word:
        return None if full and after else "\n"
    if used + 1 + width(word) <= room:
        return "\n"
    if before.endswith("-"):
        return None  # some break a word there
    if not full:
        return " "
    if is_wide and width(before[-1]) == 2:
        return ""  # no blanks in Japanese
    whole = before.rsplit(" ", 1)[-1] + word
    return " " if width(whole) <= room else None
