"""Frames into terminal output: what was painted last is known, so only what changed is written.

`Scroller` works in the main screen: finished rows go into the scrollback, and the live rows below them are
repainted in place. `Canvas` owns the alternate screen and repaints it whole.
"""

from synapse.terminal.cells import crop, width

Size = tuple[int, int]  # columns, rows
Cursor = tuple[int, int] | None  # row and column among the live rows; None hides it

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def fit(live: list[str], cursor: Cursor, size: Size) -> tuple[list[str], Cursor]:
    """The live rows that fit on the screen: the lowest ones, and always that of the cursor."""
    columns, rows = size
    surplus = len(live) - rows
    first = max(0, surplus if cursor is None else min(surplus, cursor[0]))
    shown = [crop(row, columns) for row in live[first : first + rows]]
    if cursor is None:
        return shown, None
    return shown, (cursor[0] - first, min(cursor[1], columns - 1))


def _vertical(distance: int) -> str:
    if distance == 0:
        return ""
    return f"\x1b[{distance}B" if distance > 0 else f"\x1b[{-distance}A"


def _column(column: int) -> str:
    return f"\r\x1b[{column}C" if column else "\r"


class Scroller:
    def __init__(self) -> None:
        self._size: Size = (0, 0)
        self._live: list[str] = []
        self._cursor: Cursor = None
        self._at = (0, 0)  # where the terminal's cursor really is among the live rows

    def paint(self, size: Size, done: list[str], live: list[str], cursor: Cursor) -> str:
        live, cursor = fit(live, cursor, size)
        last = max(0, len(live) - 1)
        if done or size != self._size or len(live) != len(self._live):
            here = last
            out = self.erase(size) + "".join(f"{crop(row, size[0])}\r\n" for row in done) + "\r\n".join(live)
        elif live == self._live and cursor == self._cursor:
            return ""
        else:
            out, here = self._differences(live)
        row, column = cursor or (last, 0)
        self._size, self._live, self._cursor, self._at = size, live, cursor, (row, column)
        return f"{HIDE}{out}{_vertical(row - here)}{_column(column)}{SHOW if cursor else ''}"

    def erase(self, size: Size) -> str:
        """Erases the live rows and leaves the cursor where the first one was."""
        above = self._at[0]
        if size != self._size:  # terminals rewrap rows that no longer fit
            wrapped = sum(max(1, -(-width(row) // size[0])) for row in self._live[:above])
            above = wrapped + self._at[1] // size[0]
        self._live, self._cursor, self._at = [], None, (0, 0)
        return f"{_vertical(-above)}\r\x1b[J"

    def _differences(self, live: list[str]) -> tuple[str, int]:
        """What changes the painted rows into `live`, and the row it leaves the cursor on."""
        out, at = "", self._at[0]
        for number, (old, new) in enumerate(zip(self._live, live, strict=True)):
            if old != new:
                # Erase first: after a full row the cursor stands on the last cell, and erasing would eat it.
                out += f"{_vertical(number - at)}\r\x1b[2K{new}"
                at = number
        return out, at


class Canvas:
    def __init__(self) -> None:
        self._last = ""

    def paint(self, size: Size, above: list[str], live: list[str], cursor: Cursor) -> str:
        columns, rows = size
        live, cursor = fit(live, cursor, size)
        kept = [crop(row, columns) for row in above[max(0, len(above) + len(live) - rows) :]]
        screen = [*kept, *live]
        out = f"{HIDE}\x1b[H" + "\r\n".join(f"\x1b[2K{row}" for row in screen)
        if len(screen) < rows:
            out += "\r\n\x1b[J"
        if cursor:
            out += f"\x1b[{len(kept) + cursor[0] + 1};{cursor[1] + 1}H{SHOW}"
        if out == self._last:
            return ""
        self._last = out
        return out

    def erase(self, size: Size) -> str:
        self._last = ""
        return "\x1b[H\x1b[2J"
