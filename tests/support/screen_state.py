"""Everything that a terminal shows and keeps, to compare two of them."""

from __future__ import annotations

from typing import Any

from synapse.terminal.overlay import _is_plain
from synapse.terminal.screen import Row, Screen

MODES = (1, 5, 6, 7, 12, 25, 45, 47, 66, 69, 1000, 1002, 1003, 1004, 1006, 1047, 1049, 2004, 2026, 2027, 2031)


def state(screen: Screen, scrollback: bool = False, strict: bool = True) -> dict[str, Any]:
    """Everything that the model knows of a terminal."""
    rows = [_plain(row, strict) for row in screen.rows(0, screen.size[1])]
    contents = screen.contents() if scrollback else ""
    return {
        "rows": rows,
        "cursor": screen.drawing_cursor(),
        "at": screen.cursor,
        "visible": screen.cursor_visible,
        "title": screen.title,
        "modes": [number for number in MODES if screen.mode(number)],
        "scrolled": screen.has_scrolled(),
        "contents": contents if strict else "".join(contents.split()),
    }


def _plain(row: Row, strict: bool) -> Row:
    """A blank in a wrapped row comes back as a space, since erasing it would unwrap the row; so does one with
    a look that erasing does not give. Unless `strict`, also where the row has been unwrapped since."""
    spaces = row.wrapped or not strict
    return row._replace(
        cells=[
            cell._replace(text=" ") if not cell.text and (spaces or not _is_plain(cell.sgr)) else cell
            for cell in row.cells
        ]
    )


def assert_same(terminal: Screen, model: Screen, scrollback: bool = False, strict: bool = True) -> None:
    shown, meant = state(terminal, scrollback, strict), state(model, scrollback, strict)
    for y, (a, b) in enumerate(zip(shown["rows"], meant["rows"], strict=True)):
        assert a == b, f"row {y}"
    assert shown == meant
