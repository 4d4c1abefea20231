"""Menus whose chosen option has another background, and no mark: they get the mark of their style. Pure."""

import re
from collections.abc import Callable, Sequence

from synapse.agents.look import Look
from synapse.watch.screen.dialogs import matches

Shade = Callable[[int, int], str]  # the background of the cell in a row and a column

_OPTION = re.compile(r"(\s*│ *)  (?=\d{1,2}\. +\S)")
_MARKED = re.compile(r"\s*│\s*[^\s\w]\s*\d{1,2}\. +\S")  # an option of a menu that has a mark of its own
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
    return drawn


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
