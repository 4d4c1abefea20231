"""A row of the screen as spans of one look, which JSON can carry: `{"text", "sgr"?, "link"?, "width"?}`."""

from collections.abc import Sequence
from typing import Any

from synapse.terminal.screen import Cell

PLAIN = "0"
Span = dict[str, Any]


def spans(cells: Sequence[Cell]) -> list[Span]:
    """The spans of a row, without the plain blanks at its end.

    `width` is the number of cells of each character (1 if it is left out). A `cluster` is one character that
    is written with several code points; it is a span of its own."""
    found: list[Span] = []
    look: tuple[str, str, int] | None = None  # of the last span; None if it cannot be continued
    for cell in cells[: _end(cells)]:
        if cell.width == 0:
            continue  # the second half of a wide character
        text = cell.text or " "
        here = (cell.sgr, cell.link, cell.width)
        if len(text) == 1 and here == look:
            found[-1]["text"] += text
            continue
        found.append(_span(text, *here))
        look = here if len(text) == 1 else None
    return found


def _end(cells: Sequence[Cell]) -> int:
    end = len(cells)
    while end and cells[end - 1].text in ("", " ") and cells[end - 1].sgr == PLAIN and cells[end - 1].width:
        end -= 1
    return end


def _span(text: str, sgr: str, link: str, width: int) -> Span:
    made: Span = {"text": text}
    if sgr != PLAIN:
        made["sgr"] = sgr
    if link:
        made["link"] = link
    if width != 1:
        made["width"] = width
    if len(text) > 1:
        made["cluster"] = True
    return made
