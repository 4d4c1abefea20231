"""The table of all figures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

BARE, SCRIPT, TMUX, CURL, SDK, SDK_SQLITE, SYNAPSE = COLUMNS = (
    *("bare", "script", "tmux", "curl", "a2a-sdk", "a2a-sdk, SQLite", "synapse"),
)


@dataclass
class Row:
    """One figure of every peer, and Synapse's goal: `met` is None where there is no goal."""

    figure: str
    unit: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    goal: str = ""
    met: bool | None = None
    notes: Sequence[str] = ()  # printed under the table: which peer was left out, and why

    def cells(self, columns: Sequence[str]) -> list[str]:
        met = {True: "yes", False: "NO", None: "unknown" if self.goal else ""}[self.met]
        return [self.figure, self.unit, *(_number(self.values.get(c)) for c in columns), self.goal, met]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def render(rows: Sequence[Row]) -> str:
    """A Markdown table that is readable as text; a column without a figure is left out."""
    columns = [column for column in COLUMNS if any(column in row.values for row in rows)]
    header = ["figure", "unit", *columns, "goal", "met"]
    cells = [header, *(row.cells(columns) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = range(2, 2 + len(columns))

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if index in numbers else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    rule = [("-" * (w - 1) + ":") if i in numbers else "-" * w for i, w in enumerate(widths)]
    notes: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            notes.setdefault(note, []).append(row.figure)
    below = [f"- {note} ({', '.join(figures)})" for note, figures in notes.items()]
    return "\n".join([line(header), line(rule), *map(line, cells[1:]), *([""] if below else []), *below])


def percentile(samples: Sequence[float], percent: float) -> float:
    ordered = sorted(samples)
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def at_most(value: float | None, limit: float | None) -> bool | None:
    return None if value is None or limit is None else value <= limit
