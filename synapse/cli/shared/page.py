"""How the text of a command looks: colours, and lines that fit the terminal.

Output that is not a terminal gets neither. `NO_COLOR` (any value) and `TERM=dumb` switch colours off.
"""

from __future__ import annotations

import os
import sys

from synapse.base import states
from synapse.base.text import for_line, for_output
from synapse.cli.shared.output import Painted
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.terminal.cells import char_width, crop, width, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BOLD, DIM, RED, GREEN, YELLOW, CYAN, URGENT = "1", "2", "31", "32", "33", "36", "1;35"
COLOURS = {
    READY: GREEN, PROCESSING: YELLOW, INPUT_REQUIRED: URGENT,
    states.SUBMITTED: CYAN, states.WORKING: YELLOW, states.INPUT_REQUIRED: URGENT,
    states.COMPLETED: GREEN, states.FAILED: RED, states.CANCELED: DIM,
}  # fmt: skip
GAP = 2  # cells between two columns
NARROWEST = 8  # cells of a column that is cut
USUAL = 80  # columns of what is not a terminal


def terminal_columns() -> int:
    """The columns of the terminal; 0 if standard output is none."""
    if not sys.stdout.isatty():
        return 0
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns) or USUAL
    except (ValueError, OSError):
        return USUAL


class Page:
    """`columns` is 0 where lines may have any length."""

    def __init__(self, columns: int | None = None, coloured: bool | None = None) -> None:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
        self.columns = terminal_columns() if columns is None else columns
        self.coloured = sys.stdout.isatty() and not plain if coloured is None else coloured

    def paint(self, text: str, colour: str) -> Painted:
        text = for_output(text)
        return Painted(f"\x1b[{colour}m{text}\x1b[m" if self.coloured and colour and text else text)

    def state(self, word: str) -> Painted:
        """The word for a status or a state, in its colour."""
        return self.paint(word, COLOURS.get(word, ""))

    def line(self, text: str, indent: int = 0, word: str = "", colour: str = "") -> Painted:
        """One line, wrapped, with a colour for the first `word` in it; by default that of a state."""
        rows = self.wrapped(text, indent)
        if not word:
            return rows
        return Painted(rows.replace(word, self.paint(word, colour or COLOURS.get(word, "")), 1))

    def wrapped(self, text: str, indent: int = 0) -> Painted:
        """One line of text, in rows that fit; all but the first begin with `indent` spaces."""
        text = for_output(text)
        if not self.columns or width(text) <= self.columns or self.columns <= indent + NARROWEST:
            return Painted(text)
        first, rest = wrap(text, self.columns)[0]
        more = wrap(text[rest:], self.columns - indent) if rest < len(text) else []
        return Painted("\n".join([first.rstrip(), *(f"{' ' * indent}{row}".rstrip() for row, _ in more)]))

    def table(
        self,
        rows: Sequence[Sequence[str]],
        *,
        flexible: Sequence[int] = (),
        ends: Sequence[int] = (),
        states: int | None = None,
    ) -> list[str]:
        """Rows with aligned columns, the first one a header. If they do not fit, the columns of `flexible`
        are cut in this order; of those in `ends` the end is kept. The column `states` is coloured."""
        rows = [[for_line(cell) for cell in row] for row in rows]
        widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
        for column in flexible if self.columns else ():
            excess = sum(widths) + GAP * (len(widths) - 1) - self.columns
            if excess > 0:
                least = max(NARROWEST, width(rows[0][column]))
                widths[column] = max(widths[column] - excess, min(least, widths[column]))
        lines: list[str] = []
        for number, row in enumerate(rows):
            cells = []
            for column, (cell, size) in enumerate(zip(row, widths, strict=True)):
                cell = _cut_beginning(cell, size) if column in ends else _cut(cell, size)
                blank = " " * (size - width(cell)) if column < len(row) - 1 else ""
                if number == 0:
                    cell = self.paint(cell, BOLD)
                elif column == states:
                    cell = self.state(cell)
                cells.append(cell + blank)
            lines.append(Painted((" " * GAP).join(cells).rstrip()))
        return lines


def _cut(text: str, columns: int) -> str:
    return text if width(text) <= columns else crop(text, columns - 1) + "…"


def _cut_beginning(text: str, columns: int) -> str:
    if width(text) <= columns:
        return text
    used, start = 1, len(text)
    while start and used + char_width(text[start - 1]) <= columns:
        start -= 1
        used += char_width(text[start])
    return "…" + text[start:]
