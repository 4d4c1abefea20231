"""The overlay: the time to make a toast and a panel on recorded screens, and how well a note can be seen.

Over the recordings with a clock of its own, where the host needs no time; and with a real relay and host in
front of a program that repaints.
"""

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
from tests.support.home import new_home
from tests.support.overlay_world import World, note_over
from tests.support.repainting import Watched, repainting

RECORDINGS = Path(__file__).parent.parent / "tests" / "recordings"
REPAINTS = {"30 frames a second": 1 / 30, "output every 12 ms": 0.012}
WATCHED = 4.0  # seconds
ROUNDS = 3  # the median of them counts: on a busy machine one may be far off
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
    rows += _seen("note over the recordings", *_over_recordings())
    for what, every in REPAINTS.items():
        rows += _over_repaints("note", what, every, Watched.raise_note)
        rows += _over_repaints("panel", what, every, Watched.open_panel)
    return rows


def _seen(what: str, share: float, switches: float) -> list[Row]:
    return [
        Row(f"{what}: visible", "%", {SYNAPSE: share * 100}, ">= 95", share >= 0.95),
        Row(f"{what}: switches", "/s", {SYNAPSE: switches}, "<= 2", switches <= 2),
    ]


def _over_recordings() -> tuple[float, float]:
    """The share of the time and the switches a second over all of them."""
    seen = switched = total = 0.0
    for path in sorted(RECORDINGS.glob("*/*/session.cast.gz")):
        with gzip.open(path, "rt") as file:
            head, *events = [json.loads(line) for line in file]
        world = World((head["width"], head["height"]))
        output = [(at, data.encode()) for at, kind, data in events if kind == "o"]
        share, switches = note_over(world, output)
        span = output[-1][0] + 1.0
        seen, switched, total = seen + share * span, switched + switches * span, total + span
    return seen / total, switched / total


def _over_repaints(name: str, what: str, every: float, show: Callable[[Watched], None]) -> list[Row]:
    rounds = [_round(every, show) for _ in range(ROUNDS)]
    share, switches, added, middle = (median(figures) for figures in zip(*rounds, strict=True))
    delay = f"output delayed by a {name} over {what}"
    return [
        *_seen(f"{name} over {what}", share, switches),
        Row(f"{delay}, p99", "ms", {SYNAPSE: added}, "<= 8", added <= 8),
        Row(f"{delay}, median", "ms", {SYNAPSE: middle}, "<= 8", middle <= 8),
    ]


def _round(every: float, show: Callable[[Watched], None]) -> tuple[float, float, float, float]:
    """The share of the time, the switches a second, and the delay in ms: p99 and median."""
    with new_home() as home, home.ours(), repainting(home, every) as watched:
        watched.watch(0.5)  # what has gathered
        without = watched.watch(WATCHED)[2]
        show(watched)
        share, switches, ages = watched.watch(WATCHED)
    added = (percentile(ages, 99) - percentile(without, 99)) * 1000
    return share, switches, added, (median(ages) - median(without)) * 1000


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
