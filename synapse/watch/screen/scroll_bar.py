"""The text of a screen without the scroll bar that its program draws.

A bar that comes and goes would make another question of the same question.
"""

from collections.abc import Sequence

from synapse.terminal.screen import Screen


class BarlessText:
    """`bars`: the characters of bars in the last column from the top row on, each a track and a thumb."""

    def __init__(self, screen: Screen, bars: Sequence[str]) -> None:
        self._screen = screen
        self._bars = bars

    def text(self) -> str:
        """As `Screen.text`."""
        shown = self._screen.text()
        rows = shown.split("\n")
        height = self._height(rows)
        return "\n".join([*_cut(rows[:height]), *rows[height:]]) if height else shown

    def contents(self) -> str:
        """As `Screen.contents`."""
        whole, rows = self._screen.contents(), self._screen.text().split("\n")
        height = self._height(rows)
        if not height:
            return whole
        lines = whole.split("\n")
        top = max(len(lines) - len(rows), 0)
        # Rows that the terminal itself has wrapped are one line there: then the others do not match.
        for number, (line, row) in enumerate(zip(lines[top:], rows[:height], strict=False), top):
            if line.rstrip() == row.rstrip():
                lines[number] = _cut([line.rstrip()])[0]
        return "\n".join(lines)

    def _height(self, rows: Sequence[str]) -> int:
        """How many rows from the top have the bar. A column of the track alone may be the edge of a box."""
        for bar in self._bars:
            if not rows[0].rstrip().endswith(tuple(bar)):
                continue
            columns = self._screen.size[0]
            ends = [row.cells[0].text for row in self._screen.rows(0, len(rows), columns - 1, columns)]
            height = next((n for n, end in enumerate(ends) if end not in tuple(bar)), len(ends))
            if bar[1] in ends[:height]:
                return height
        return 0


def _cut(rows: Sequence[str]) -> list[str]:
    return [row.rstrip()[:-1].rstrip() for row in rows]
