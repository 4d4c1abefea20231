"""Recordings of the CLIs, and what the observer makes of them with the recording's clock."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synapse.agents.base import Channel, Surroundings
from synapse.profiles.loader import load_profile
from synapse.terminal.screen import make_screen
from synapse.watch.observer import Observer

FOLDER = Path(__file__).parents[1] / "recordings"
LOOK_SOON = 0.02  # as the host does


@dataclass
class Replayed:
    width: int
    timeline: list[tuple[float, str]] = field(default_factory=list)
    prompts: list[tuple[float, str]] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    unfinished: float | None = None  # when the turn began that the recording cuts off
    last: float = 0.0  # when something last happened
    end: float = 0.0  # the last moment before the CLI itself ended

    def status_at(self, moment: float) -> str:
        status = "PROCESSING"
        for at, changed in self.timeline:
            if at > moment:
                break
            status = changed
        return status


def cases() -> list[Path]:
    return sorted(path.parent for path in FOLDER.glob("*/*/session.cast.gz"))


def replay(case: Path, channels: bool = True) -> Replayed:
    """Without `channels`, only the screen and silence are evidence."""
    with gzip.open(case / "session.cast.gz", "rt") as file:
        head, *events = [json.loads(line) for line in file]
    screen = make_screen(head["width"], head["height"])
    result = Replayed(head["width"])
    now = 0.0

    def on_status(verdict: Any) -> None:
        result.timeline.append((round(now, 2), verdict.status))

    none = Channel(Surroundings("/", {}, 0.0))
    observer = Observer(load_profile(case.parent.name), screen, none, on_status, channels)
    due: float | None = None
    result.end = _end(events)
    result.last = min(float(events[-1][0]), result.end)
    for at, kind, data in [*(e for e in events if e[0] <= result.end), [result.end, "end", ""]]:
        while due is not None and due <= at:
            now = due
            wait = observer.check(now)
            if observer.prompt is not None:
                result.prompts.append((now, observer.prompt.prompt_text))
            due = None if wait is None else now + wait
        now = at
        if kind == "o":
            screen.feed(data.encode())
            observer.output(now)
        elif kind == "r":
            cols, _, rows = data.partition("x")
            screen.resize(int(cols), int(rows))
        elif kind == "i":
            observer.key("\r" in data, now)
        due = now + LOOK_SOON if due is None else min(due, now + LOOK_SOON)
    current = observer.turns.current
    result.unfinished = current.started_at if current is not None else None
    result.turns = [turn.to_dict() for turn in observer.turns.finished]
    return result


def _end(events: list[Any]) -> float:
    """When the CLI ends, it resets its modes; after that there is no status."""
    outputs = [(at, data) for at, kind, data in events if kind == "o"]
    last = float(events[-1][0])
    for at, data in reversed(outputs):
        if at < last - 3:
            break
        if "\x1b[?2004l" in data:
            return float(at) - 0.001
    return last + 3.0  # it was left running: nothing more happens


def load(case: Path) -> tuple[tuple[int, int], list[tuple[str, bytes]]]:
    with gzip.open(case / "session.cast.gz", "rt") as file:
        head, *events = [json.loads(line) for line in file]
    return (head["width"], head["height"]), [
        (kind, data.encode()) for _, kind, data in events if kind in "or"
    ]


def pieces(rng: random.Random, events: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """The events with their output cut at random places, also within sequences and characters."""
    out = []
    for kind, data in events:
        while kind == "o" and data and rng.random() < 0.5:
            cut = rng.randint(1, len(data))
            out.append((kind, data[:cut]))
            data = data[cut:]
        if data:
            out.append((kind, data))
    return out
