"""Finds the echo of a message on the screen by its mark, wherever a program has drawn it. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from synapse.agents.base import mark_in

_INVISIBLE = "\u2060"


class Echo(NamedTuple):
    """The rows from `row` to before `end`; `whole`: they hold the message and nothing after it. `lead` is
    what is before the message in its first row."""

    row: int
    end: int
    whole: bool
    lead: str


def squash(text: str, ignored: str = "") -> str:
    """Without blanks and what CLIs draw around a prompt: they wrap, indent and frame it."""
    return "".join(text.translate(str.maketrans("", "", ignored + _INVISIBLE)).split())


def find_echo(rows: Sequence[str], prompt: str, start: int = 0, ignored: str = "") -> Echo | None:
    """The echo at or below the row `start`, or else above it.

    The reply may quote the message: its first echo counts, or the last that looks the same, which a program
    has painted again."""
    mark = squash(mark_in(prompt), ignored)
    if not mark:
        return None
    wanted = squash(prompt, ignored)
    squashed = [squash(row, ignored) for row in rows]
    ends = list(accumulate(map(len, squashed)))
    shown = "".join(squashed)
    found = [_echo(rows, shown, ends, place.start(), wanted) for place in re.finditer(re.escape(mark), shown)]
    found = [echo for echo in found if echo.row >= start] or found
    found = [echo for echo in found if echo.whole] or found
    return next((echo for echo in reversed(found) if echo.lead == found[0].lead), None)


def after_cut_echo(rows: Sequence[str], prompt: str, ignored: str = "") -> int:
    """The row after an echo that began above the first row there is; 0 if there is none."""
    wanted, shown, found = squash(prompt, ignored), "", 0
    for index, row in enumerate(rows[:500]):
        shown += squash(row, ignored)
        if len(shown) > len(wanted):
            break
        if shown and wanted.endswith(shown):
            found = index + 1
    return found


def _echo(rows: Sequence[str], shown: str, ends: list[int], at: int, wanted: str) -> Echo:
    """The echo that begins there."""
    row = bisect_right(ends, at)
    pairs = enumerate(zip(wanted, shown[at : at + len(wanted)], strict=False))
    over = at + next((n for n, (one, other) in pairs if one != other), min(len(wanted), len(shown) - at))
    end = bisect_left(ends, over)
    whole = over == at + len(wanted) and ends[end] == over
    return Echo(row, end + 1, whole, rows[row].partition("[")[0])
