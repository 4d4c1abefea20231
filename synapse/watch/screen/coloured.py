"""Menus whose chosen option has another background, and no mark: they get the mark of their style, and each
option is in one row. Pure."""

import re
from collections.abc import Callable, Sequence

from synapse.agents.look import Look
from synapse.terminal.cells import width
from synapse.watch.screen.dialogs import matches

Shade = Callable[[int, int], str]  # the background of the cell in a row and a column

_OPTION = re.compile(r"(\s*│ *)  (?=\d{1,2}\. +\S)")
_MARKED = re.compile(r"\s*│\s*[^\s\w]\s*\d{1,2}\. +\S")  # an option of a menu that has a mark of its own
_ANY = re.compile(r"\s*│ +(?:[^\s\w] *)?\d{1,2}\. +\S")
_REST = re.compile(r"\s*│ (?=\S)")  # a further row of an option begins where the text of the dialog does
_LOWER_EDGE = ("╰", "└")
_INSIDE = "│"


def with_marks(rows: Sequence[str], look: Look, shade: Shade | None) -> list[str]:
    """The rows up to the last box, with its chosen option marked; without `shade` that is the first one."""
    drawn = list(rows)
    style = next((style for style in look.menus if style.coloured), None)
    end = len(drawn)
    while end and matches(look.below_dialogs, drawn[end - 1]):
        end -= 1
    if style is None or not end or not drawn[end - 1].lstrip().startswith(_LOWER_EDGE):
        return drawn
    del drawn[end:]
    chosen = _chosen(drawn, shade)
    if chosen is not None:
        row, column = chosen
        drawn[row] = f"{drawn[row][:column]}{style.mark[0]} {drawn[row][column + 2 :]}"
    return _joined(drawn)


def _joined(rows: Sequence[str]) -> list[str]:
    """The first word of a further row did not fit into the row above it."""
    room, joined, above = len(rows[-1].strip()) - 4, [rows[0]], ""
    for row in rows[1:]:
        text = row.strip().strip(_INSIDE).rstrip()[1:]
        is_rest = _ANY.match(joined[-1]) and _REST.match(row) and not _ANY.match(row)
        if is_rest and width(above) + 1 + width(text.split(" ", 1)[0]) > room:
            joined[-1] = f"{joined[-1].rstrip(f'{_INSIDE} ')} {text} {_INSIDE}"
        else:
            joined.append(row)
        above = text
    return joined


def _chosen(rows: Sequence[str], shade: Shade | None) -> tuple[int, int] | None:
    """The row of the chosen option, and the column of its mark."""
    top = len(rows) - 1
    while top and rows[top - 1].lstrip().startswith(_INSIDE):
        top -= 1
    options = [(n, found.end(1)) for n in range(top, len(rows)) if (found := _OPTION.match(rows[n]))]
    if shade is not None:
        options = [(n, column) for n, column in options if shade(n, column) != shade(n, column - 1)]
    elif any(_MARKED.match(row) for row in rows[top:]):
        return None
    return options[0] if options else None
