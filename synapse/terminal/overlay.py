"""Draws boxes over a terminal that another program uses, and erases them without a trace.

The screen model knows what is covered and the program's pen, so that nothing is stored in the terminal: the
program may be using its save-cursor slot. The bytes that draw and those that erase are made for one position
in the program's output and are valid only there.

The first two columns and the last are never covered. There a terminal keeps state that no cell shows: that a
row continues in the next one, and that a wide character has moved there.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from synapse.terminal import cells as measure
from synapse.terminal.screen import Cell, Cursor, Row, Screen, make_screen

REMEMBERED = 512  # rows: of a panel that is drawn again and again, most stay the same

_REGION = re.compile(rb"\x1b\[\d+;\d+r")

LEFT, RIGHT = 2, 1  # columns that stay free
SMALLEST = (20, 4)  # columns and rows of the smallest terminal that is drawn on
_WIDE = (("\u2e80", "\ua4cf"), ("\uac00", "\ud7a3"), ("\uff01", "\uff60"))  # wide in every terminal

_NOTHING = Cell("")
_CHARSETS = ("\x1b(", "\x1b)", "\x1b*", "\x1b+", "\x0e", "\x1bn", "\x1bo")  # sequences that select one
_EMOJI = "\ufe0f"
_JOINERS = "\u200d\ufe0f\ufe0e"
# Emoji of several code points: terminals differ on their width, and so on the columns of what follows them.
_CLUSTERED = re.compile("[\u200d\ufe0f\u20e3\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
_BACKGROUND = re.compile(r"0;(?:4[0-7]|10[0-7]|48;5;\d+|48;2;\d+;\d+;\d+)")

Span = tuple[str, str]  # text without control characters, and the SGR parameters of its look
Line = Sequence[Span]


class Box(NamedTuple):
    x: int
    y: int
    width: int
    lines: Sequence[Line]

    def holds(self, x: int, y: int) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + len(self.lines)


class Painting(NamedTuple):
    draw: bytes
    erase: bytes
    synchronise: bool  # both may be wrapped in synchronised output: the program is not using it


class Area(NamedTuple):
    x: int
    y: int
    width: int
    height: int


def drawable_area(size: tuple[int, int]) -> Area | None:
    cols, rows = size
    if cols < SMALLEST[0] or rows < SMALLEST[1]:
        return None
    return Area(LEFT, 0, cols - LEFT - RIGHT, rows)


def paint(screen: Screen, boxes: Sequence[Box]) -> Painting | None:
    """The bytes for these boxes, later ones over earlier ones; None where nothing can be drawn now."""
    free, cursor = drawable_area(screen.size), screen.drawing_cursor()
    if free is None or cursor is None:
        return None
    boxes = [box for box in (_clipped(box, free) for box in boxes) if box.width and box.lines]
    drawn, erased = [], []
    edge = screen.size[0] - 1
    running = _running_rows(screen, boxes)
    for box in boxes:
        left, right = box.x - 2, box.x + box.width + 1  # a wide character may cross each edge
        rows = screen.rows(box.y, box.y + len(box.lines), left, right)
        if any(row.unrepeatable for row in rows):
            return None
        for y, (row, line) in enumerate(zip(rows, box.lines, strict=True), box.y):
            before, after = row.cells[2].width == 0, row.cells[-1].width == 0
            span = row.cells[2 - before : len(row.cells) if after else -1]
            if _has_marks_at(edge, span, box.x - before):
                return None
            drawn_line = _line(tuple(line), box.x - before, box.width, before, after, edge)
            drawn.append(_move(box.x - before, y) + drawn_line)
            erased.append(
                running.get(y) or _move(box.x - before, y) + _cells(tuple(span), box.x - before, row.wrapped)
            )
    last = screen.rows(cursor.y, cursor.y + 1, screen.size[0] - 2) if cursor.wraps else []
    if last and (last[0].unrepeatable or (not last[0].cells[-1].text and last[0].cells[-1].width)):
        return None  # the terminal is about to wrap after an empty cell
    if last and not cursor.autowrap and _has_marks_at(edge + 1, last[0].cells, edge - 1):
        return None
    hidden = any(box.holds(cursor.x, cursor.y) for box in boxes)
    before_all = _prologue(cursor)
    draw = before_all + "".join(drawn) + _epilogue(cursor, [], hidden)
    erase = before_all + "".join(erased) + _epilogue(cursor, last, not cursor.visible)
    return Painting(draw.encode(), erase.encode(), not cursor.synchronised)


def paint_aside(screen: Screen, boxes: Sequence[Box]) -> Painting | None:
    """The same on the alternate screen, which the program is not using. Whoever writes it enters that screen
    first, and stays there until the bytes that erase it, which leave it again."""
    cursor = screen.drawing_cursor()
    if cursor is None or screen.alternate_screen:
        return None
    cols, rows = screen.size
    out = ["\x1b[?25l\x1b]8;;\x1b\\\x1b(B\x0f\x1b[4l\x1b[?6l\x1b[?7l"]
    out += (f"{_move(0, y)}\x1b[0m\x1b[2K" for y in range(rows))
    for box in boxes:
        width = min(box.width, cols - box.x)
        for y, line in enumerate(box.lines[: max(rows - box.y, 0)], box.y):
            out.append(_move(box.x, y) + _line(tuple(line), box.x, width, False, False, cols - 1))
    erase = "\x1b[?6h" if cursor.origin is not None else ""
    erase += "\x1b[?7h" if cursor.autowrap else ""
    erase += "\x1b[4h" if cursor.insert else ""
    erase += "\x1b[?1049l\x1b[0m" + cursor.pen + ("\x1b[?25h" if cursor.visible else "")
    return Painting("".join(out).encode(), erase.encode(), not cursor.synchronised)


def repaint(screen: Screen, first: int = 0, down: int = 0) -> bytes | None:
    """The bytes that draw the visible screen again from row `first` on, after a resize under a box; `down`
    so many rows, to move it."""
    cursor = screen.drawing_cursor()
    if cursor is None:
        return None
    count = screen.size[1]
    rows = screen.rows(0, count)
    if any(row.unrepeatable for row in rows):
        return None
    out = [_prologue(cursor), *(f"{_move(0, y)}\x1b[0m\x1b[2K" for y in range(first, count))]
    joined = False
    for y in range(max(first, -down), min(count, count - down)):
        row = rows[y]
        ends = y + 1 >= count or y + down == cursor.bottom
        below = rows[y + 1].cells[0] if row.wrapped and not ends else _NOTHING
        moved = below.width == 2 and not row.cells[-1].text and row.cells[-1].width == 1
        # Written past its end, so that the terminal joins it to the next row again.
        goes_on = bool(below.text) and (moved or bool(row.cells[-1].text) or not row.cells[-1].width)
        marked = len(row.cells[-1].text) > 1  # without autowrap a combining mark does not join the last cell
        out.append("\x1b[?7h" if goes_on or joined or marked else "\x1b[?7l")
        out.append("" if joined else _move(0, y + down))
        out.append(_cells(tuple(row.cells[:-1] if moved else row.cells), 0, row.wrapped))
        joined = goes_on
    out.append("\x1b[?7l")
    last = [Row(rows[cursor.y].cells[-2:])] if cursor.wraps else []
    return ("".join(out) + _epilogue(cursor._replace(y=cursor.y + down), last, not cursor.visible)).encode()


def _clipped(box: Box, free: Area) -> Box:
    """The part of a box that fits. Its lines are cut when they are written."""
    left, right = max(box.x, free.x), min(box.x + box.width, free.x + free.width)
    lines = box.lines[max(-box.y, 0) : max(free.height - box.y, 0)]
    return Box(left, max(box.y, 0), max(right - left, 0), lines)


def _prologue(cursor: Cursor) -> str:
    """Switch off the program's state that would disturb the drawing."""
    out = "\x1b[?25l" if cursor.visible else ""
    if "\x1b]8;" in cursor.pen:
        out += "\x1b]8;;\x1b\\"
    if any(mark in cursor.pen for mark in _CHARSETS):
        out += "\x1b(B\x0f"
    out += "\x1b[4l" if cursor.insert else ""
    out += "\x1b[?6l" if cursor.origin is not None else ""
    return out + ("\x1b[?7l" if cursor.autowrap else "")


def _epilogue(cursor: Cursor, last: Sequence[Row], hidden: bool) -> str:
    """Restore that state. Writing the last cell again restores a pending wrap."""
    out = "\x1b[?6h" if cursor.origin is not None else ""
    out += "\x1b[?7h" if cursor.autowrap else ""
    x, y = cursor.x, cursor.y - (cursor.origin or 0)
    if last:
        cells = last[0].cells if last[0].cells[-1].width == 0 else last[0].cells[-1:]
        out += _move(x + 1 - len(cells), y) + _cells(tuple(cells), x + 1 - len(cells), True)
    else:
        out += _move(x, y)
    out += "\x1b[4h" if cursor.insert else ""
    out += "\x1b[0m" + cursor.pen
    return out if hidden or not cursor.visible else out + "\x1b[?25h"


def _move(x: int, y: int) -> str:
    return f"\x1b[{y + 1};{x + 1}H"


def _has_marks_at(edge: int, cells: Sequence[Cell], x: int) -> bool:
    """Whether a character that ends there has marks. With autowrap off, Ghostty puts marks that come when the
    cursor is in the last column on what is in that column, and loses those of a character that is there."""
    first = max(edge - 2, x)
    return any(
        len(cell.text) > 1 and at + cell.width == edge for at, cell in enumerate(cells[first - x :], first)
    )


@lru_cache(REMEMBERED)
def _line(line: tuple[Span, ...], x: int, width: int, before: bool, after: bool, edge: int) -> str:
    """One line of a box, cut and padded to its width, with blanks for half-covered wide characters at its
    ends. No combining mark is written while the cursor is in the last column, `edge`."""
    out, at, sure = ["\x1b[0m " if before else ""], x + before, True
    end = at + width
    for text, sgr in line:
        out.append(f"\x1b[{sgr}m")
        if text.isascii() and sure:
            out.append(text[: end - at])
            at += len(out[-1])
            continue
        for char in text:
            size = measure.char_width(char)
            if at + size > end or char in _JOINERS:  # a joiner could change a cell outside of the box
                break
            if not size and at == edge:
                continue
            if size and not sure:
                out.append(f"\x1b[{at + 1}G")
            out.append(char)
            sure = _is_sure(char) if size else False
            at += size
    if at < end or after:
        if not sure:
            out.append(f"\x1b[{at + 1}G")
        out.append(" " * (end - at))
    return "".join(out) + ("\x1b[0m " if after else "")


@lru_cache(REMEMBERED)
def _cells(cells: tuple[Cell, ...], x: int, wrapped: bool) -> str:
    """Write the program's cells as they were, from column `x`. After a character of uncertain width the
    cursor is set explicitly. Erasing would make the terminal forget that a row is wrapped, so blanks are
    written there."""
    out: list[str] = []
    look, link = "", ""
    at = x  # the column of the terminal's cursor; -1 if not certain
    count = len(cells)
    index = 0
    while index < count:
        cell = cells[index]
        if not cell.width:
            index += 1
            continue
        column = x + index
        if at != column:
            out.append(f"\x1b[{column + 1}G")
        if cell.link != link:
            link = cell.link
            out.append(f"\x1b]8;;{link}\x1b\\")
        if cell.sgr != look:
            look = cell.sgr
            out.append(f"\x1b[{look}m")
        if cell.text or wrapped or not _is_plain(cell.sgr):
            out.append(cell.text or " ")
            at = column + cell.width if _is_sure(cell.text) else -1
            index += 1
            continue
        run = index + 1
        while run < count and cells[run] == cell:
            run += 1
        out.append(f"\x1b[{run - index}X")
        at, index = column, run
    if link:
        out.append("\x1b]8;;\x1b\\")
    return "".join(out)


def rows_in_doubt(screen: Screen) -> int:
    """The rows down to the last line that may take more or fewer rows in the terminal, because it has emoji
    of several code points. They are not where the model has them then."""
    cols, count = screen.size
    for y in reversed(_clustered_rows(screen)):
        *above, row = screen.rows(max(y - 1, 0), y + 1)
        used = max((x for x, cell in enumerate(row.cells, 1) if cell.text or not cell.width), default=0)
        grown = sum(cell.text.count(_EMOJI) for cell in row.cells)  # some terminals make these wide
        if row.wrapped or any(other.wrapped for other in above) or used + grown > cols:
            rest = screen.rows(y, count)
            return y + next((n for n, row in enumerate(rest, 1) if not row.wrapped), len(rest))
    return 0


def _clustered_rows(screen: Screen) -> list[int]:
    return [y for y, line in enumerate(screen.text().split("\n")) if _CLUSTERED.search(line)]


def _running_rows(screen: Screen, boxes: Sequence[Box]) -> dict[int, str]:
    """The bytes that write rows with emoji of several code points again, where that gives the same cells."""
    found: dict[int, str] = {}
    for y in _clustered_rows(screen):
        if not any(box.y <= y < box.y + len(box.lines) for box in boxes):
            continue
        *above, row = screen.rows(max(y - 1, 0), y + 1)
        if not (row.wrapped or row.unrepeatable or any(other.wrapped for other in above)):
            found[y] = _running(row.cells, y)
            scratch = make_screen(screen.size[0], 1)
            scratch.feed(b"\x1b[?7l" + (b"\x1b[?2027h" if screen.mode(2027) else b""))
            scratch.feed(_running(row.cells, 0).encode())
            if scratch.rows(0, 1)[0].cells != row.cells:
                del found[y]
    return found


def _running(cells: Sequence[Cell], y: int) -> str:
    """Clear a row and write it as running text: a terminal then puts everything where it had it, whatever the
    width that it gives to an emoji."""
    out = [_move(0, y), "\x1b[0m\x1b[2K"]
    look, link = "0", ""
    for cell, group in groupby(cell for cell in cells if cell.width):
        if cell.link != link:
            link = cell.link
            out.append(f"\x1b]8;;{link}\x1b\\")
        if cell.sgr != look:
            look = cell.sgr
            out.append(f"\x1b[{look}m")
        count = sum(1 for _ in group)
        blank = not cell.text and _is_plain(cell.sgr)
        out.append(f"\x1b[{count}X\x1b[{count}C" if blank else (cell.text or " ") * count)
    return "".join(out) + ("\x1b]8;;\x1b\\" if link else "")


def _is_plain(sgr: str) -> bool:
    return sgr == "0" or _BACKGROUND.fullmatch(sgr) is not None


def _is_sure(text: str) -> bool:
    """Whether all terminals agree on the width of this text."""
    if len(text) != 1:
        return not text
    return text < "\u0300" or "\u2500" <= text < "\u2600" or any(a <= text <= b for a, b in _WIDE)


def blank_rows(screen: Screen) -> int:
    rows = screen.text().split("\n")
    return next((number for number, row in enumerate(rows) if row.strip()), 0)


def scroll_away(screen: Screen, rows: int) -> bool:
    """Move the upper rows of a model's screen into its scrollback; False if the cursor is in them."""
    x, y = screen.cursor
    if screen.mode(6) or _REGION.search(screen.snapshot()[-200:]) or not 0 < rows <= y:
        return False
    bottom, height = b"\n" * rows, screen.size[1]
    screen.feed(b"\x1b[%d;1H%s\x1b[%d;%dH" % (height, bottom, y - rows + 1, x + 1))
    return True


def shift(screen: Screen, rows: int) -> bool:
    """Move a model's screen down by `rows`, or up; False if something would be lost."""
    if not rows:
        return True
    if screen.mode(6) or _REGION.search(screen.snapshot()[-200:]):
        return False  # only a part of the screen would move
    y = screen.cursor[1]
    lines = screen.text().split("\n")
    lines += [""] * (screen.size[1] - len(lines))
    if not 0 <= y + rows < screen.size[1] or any(
        line.strip() for line in (lines[-rows:] if rows > 0 else lines[:-rows])
    ):
        return False
    if (data := repaint(screen, down=rows)) is None:
        return False
    screen.feed(data)
    return True
