"""The two forms of the overlay: a toast of one or two lines, and a panel."""

from collections.abc import Sequence
from typing import NamedTuple

from synapse.terminal import cells
from synapse.terminal.markdown import BASE, DIM, HEADING, STRONG, Lines
from synapse.terminal.overlay import Area, Box, Line, Span, drawable_area

TOAST_WIDTH = 64
PANEL_WIDTH = 110
FEWEST = 6  # rows of a panel at least
_TOAST = "0;38;5;255;48;5;24"
_TOAST_DIM = "0;38;5;152;48;5;24"


class View(NamedTuple):
    """The size of a panel's text."""

    columns: int
    rows: int


def view_of(size: tuple[int, int], extra: int = 0) -> View | None:
    """How much text a panel shows on a terminal of this size, with `extra` lines for something below it."""
    free = drawable_area(size)
    if free is None:
        return None
    width, height = _panel_size(free)
    return View(width - 4, max(height - 2 - extra, 1))


def _panel_size(free: Area) -> tuple[int, int]:
    """Away from the edges if possible, so that the first step of a resize pushes none of it into the
    scrollback."""
    width = free.width if free.width < 40 else free.width - 4
    return min(width, PANEL_WIDTH), free.height if free.height < 12 else free.height - 2


def toasts(size: tuple[int, int], notes: Sequence[tuple[str, str]], cursor_row: int) -> list[Box]:
    """Notes (a line, and a second one or "") at the top right; at the bottom when the cursor is up there."""
    free = drawable_area(size)
    if free is None or not notes:
        return []
    lines: list[Line] = []
    wanted = max(cells.width(text) for note in notes for text in note) + 2
    width = min(wanted, TOAST_WIDTH, free.width)
    for first, second in notes:
        lines.append([(" ", _TOAST), (_fit(first, width - 2), _TOAST), (" " * width, _TOAST)])
        if second:
            lines.append([(" ", _TOAST), (_fit(second, width - 2), _TOAST_DIM), (" " * width, _TOAST)])
    lines = lines[: max(free.height // 2, 1)]
    top = min(free.height - len(lines), 1)
    y = top if cursor_row > top + len(lines) else max(free.height - len(lines) - 1, 0)
    margin = min(2, free.width - width)
    return [Box(free.x + free.width - width - margin, y, width, lines)]


def panel(
    size: tuple[int, int],
    title: str,
    body: Lines,
    scroll: int,
    below: Lines,
    hints: Sequence[tuple[str, str]],
) -> Box | None:
    """A framed panel: the title, the rows of `body` from `scroll` on, the fixed lines `below`, the keys."""
    free, view = drawable_area(size), view_of(size, len(below))
    if free is None or view is None:
        return None
    width, height = _panel_size(free)
    rows = min(view.rows, max(len(body), FEWEST))
    height = min(height, rows + len(below) + 2)
    shown = body[scroll : scroll + view.rows]
    position = f" {scroll + 1}–{scroll + len(shown)} of {len(body)} " if len(body) > view.rows else ""
    head = _fit(f" {title} ", width - 4 - cells.width(position))
    rule = "─" * (width - 4 - cells.width(head) - cells.width(position))
    lines: list[Line] = [[("╭─", DIM), (head, STRONG), (rule, DIM), (position, HEADING), ("─╮", DIM)]]
    bar = _bar(rows, scroll, len(body))
    for number in range(rows):
        lines.append(_framed(shown[number] if number < len(shown) else [], width, bar[number]))
    lines += [_framed(line, width, "│") for line in below]
    lines.append(_footer(hints, width))
    return Box(free.x + (free.width - width) // 2, (free.height - height) // 2, width, lines[:height])


def too_small(size: tuple[int, int]) -> Box:
    """Instead of a panel, where none fits."""
    return Box(0, 0, size[0], [[("too small (q)", STRONG)]])


def _framed(line: Line, width: int, edge: str) -> Line:
    spans: list[Span] = [("│ ", DIM)]
    left = width - 4
    for text, look in line:
        text = cells.crop(text, left)
        left -= cells.width(text)
        spans.append((text, look))
    return [*spans, (" " * (left + 1), BASE), (edge, DIM)]


def _bar(rows: int, scroll: int, total: int) -> str:
    """The right edge as a scroll bar: the part of the text that is shown is drawn thick."""
    if total <= rows:
        return "│" * rows
    size = max(rows * rows // total, 1)
    start = min(scroll * (rows - size) // max(total - rows, 1), rows - size)
    return "│" * start + "┃" * size + "│" * (rows - start - size)


def _footer(hints: Sequence[tuple[str, str]], width: int) -> Line:
    spans: list[Span] = [("╰─", DIM)]
    left = width - 4
    for key, what in hints:
        size = cells.width(key) + cells.width(what) + 3
        if size > left:
            break
        spans += [(f" {key}", HEADING), (f" {what} ", DIM)]
        left -= size
    return [*spans, ("─" * left, DIM), ("─╯", DIM)]


def _fit(text: str, columns: int) -> str:
    if cells.width(text) <= columns:
        return text
    return cells.crop(text, max(columns - 1, 0)) + ("…" if columns > 0 else "")
