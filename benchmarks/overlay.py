"""The overlay on recorded screens: the time to make a toast and a panel, and their size in bytes."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.table import SYNAPSE, Row, median, percentile, render
from synapse.messages.inbox import Inbox
from synapse.terminal.overlay import Box, paint, repaint
from synapse.terminal.screen import Screen, make_screen

RECORDINGS = Path(__file__).parent.parent / "tests" / "recordings"
EVERY = 40  # screens of a recording
REPLY = "# Result\n\nThe *retry* loop is **fine**: `deadline` is read once.\n\n- first\n- 漢字\n\n" * 12


def run() -> list[Row]:
    toast, panel = _inboxes()
    costs: dict[str, list[float]] = {}
    for screen in _screens():
        for name, inbox in (("toast", toast), ("panel", panel)):
            boxes = inbox.picture(screen.size, screen.cursor[1])
            _measure(costs, name, screen, boxes)
        _note(costs, "repaint, µs", lambda screen=screen: repaint(screen))  # type: ignore[misc]
    rows = []
    for name, samples in costs.items():
        figure, _, unit = name.partition(", ")
        rows.append(Row(f"{figure}, median", unit, {SYNAPSE: median(samples)}))
        rows.append(Row(f"{figure}, 95 %", unit, {SYNAPSE: percentile(samples, 95)}))
    return rows


def _inboxes() -> tuple[Inbox, Inbox]:
    toast, panel = Inbox(), Inbox()
    toast.sending("1", "codex", "review this")
    panel.sending("1", "codex", "review this")
    panel.reply("1", REPLY)
    panel.focus(True)
    return toast, panel


def _screens() -> list[Screen]:
    """Screens from the recordings."""
    screens = []
    for path in sorted(RECORDINGS.glob("*/*/session.cast.gz")):
        with gzip.open(path, "rt") as file:
            head, *events = [json.loads(line) for line in file]
        output = [data.encode() for _, kind, data in events if kind == "o"]
        for share in (1, 2, 3):
            screen = make_screen(head["width"], head["height"])
            screen.feed(b"".join(output[: len(output) * share // 4]))
            if screen.drawing_cursor() is not None:
                screens.append(screen)
    return screens[:EVERY]


def _measure(costs: dict[str, list[float]], name: str, screen: Screen, boxes: list[Box]) -> None:
    painting = paint(screen, boxes)
    if painting is None:
        return
    _note(costs, f"{name}: make draw and erase, µs", lambda: paint(screen, boxes))
    for what, data in (("draw", painting.draw), ("erase", painting.erase)):
        _note(costs, f"{name}: a terminal takes the {what}, µs", lambda data=data: screen.feed(data))  # type: ignore[misc]
        costs.setdefault(f"{name}: {what}, bytes", []).append(len(data))


def _note(costs: dict[str, list[float]], name: str, call: Callable[[], object]) -> None:
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1e6)
    costs.setdefault(name, []).append(min(taken))


if __name__ == "__main__":
    print(render(run()))
