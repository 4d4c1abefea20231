"""Recordings of the CLIs, and what the observer makes of them with the recording's clock."""

from __future__ import annotations

import functools
import gzip
import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synapse.agents.base import Channel, Surroundings
from synapse.profiles.loader import load_profile
from synapse.terminal.screen import make_screen
from synapse.watch.observer import Observer
from synapse.watch.screen.composer import DIALOG, DRAFT, EMPTY, NOT_LOOKED, Seen
from synapse.watch.screen.reply import find_reply

FOLDER = Path(__file__).parents[1] / "recordings"
LOOK_SOON = 0.02  # as the host does
# Of the terminal itself.
_REPLY = re.compile(r"(?:\x1b\[[?\d;]*(?:[cRIOu]|\$y)|\x1b[]P_].*\x1b\\)*", re.DOTALL)
_PASTE = re.compile(r"\x1b\[20[01]~")


@dataclass
class Replayed:
    width: int
    timeline: list[tuple[float, str]] = field(default_factory=list)
    prompts: list[tuple[float, str]] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[str, Seen]] = field(default_factory=list)  # with what was in the composer then
    composers: list[tuple[float, Seen]] = field(default_factory=list)
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

    def composer_at(self, moment: float) -> Seen:
        return next((seen for at, seen in reversed(self.composers) if at <= moment), NOT_LOOKED)


def cases() -> list[Path]:
    return sorted(path.parent for path in FOLDER.glob("*/*/session.cast.gz"))


def looks() -> list[Path]:
    """Recordings of composers: each mark is a place to look at."""
    return sorted(FOLDER.glob("composer/*/*.cast.gz"))


@functools.cache
def replay(case: Path, channels: bool) -> Replayed:
    """Without `channels`, only the screen and silence are evidence. Several tests read the result."""
    return replay_cast(case / "session.cast.gz", case.parent.name, channels)


def replay_cast(path: Path, cli: str, channels: bool = True) -> Replayed:
    with gzip.open(path, "rt") as file:
        head, *events = [json.loads(line) for line in file]
    screen = make_screen(head["width"], head["height"])
    result = Replayed(head["width"])
    now = 0.0

    def on_status(verdict: Any) -> None:
        result.timeline.append((round(now, 2), verdict.status))

    none = Channel(Surroundings("/", {}, 0.0))
    observer = Observer(load_profile(cli), screen, none, on_status, channels)
    observer.on_composer(lambda seen: result.composers.append((now, seen)))
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
        elif kind == "i" and not _REPLY.fullmatch(data):
            observer.key("\r" in data, now, text=data.isprintable())
        elif kind == "m":
            result.marks.append((data, observer.composer))
        due = now + LOOK_SOON if due is None else min(due, now + LOOK_SOON)
    current = observer.turns.current
    result.unfinished = current.started_at if current is not None else None
    result.turns = [turn.to_dict() for turn in observer.turns.finished]
    return result


def typed(case: Path, end: float) -> list[tuple[float, str, str]]:
    """[time, state, text] of the composer, from the keys of the recording and the prompts marked in it.

    Only from the first mark on: keys that came before the CLI was ready may be lost or be put in later. A
    line is in the composer until the CLI paints after Enter, which is late on a busy machine."""
    with gzip.open(case / "session.cast.gz", "rt") as file:
        events = [json.loads(line) for line in file][1:]
    spans = [
        (prompt["from"], prompt["until"] or end) for prompt in json.loads((case / "prompts.json").read_text())
    ]
    marks = [at for at, kind, _ in events if kind == "m"]
    found, draft = [(at, EMPTY, "") for at in marks[:1]], ""
    for at, kind, data in events:
        asked = any(start <= at < until for start, until in spans)
        if kind != "i" or not found or at < found[0][0] or asked or _REPLY.fullmatch(data):
            continue
        submits = data in ("\r", "\x03") or (data == "\t" and "queue" in case.name)
        draft = "" if submits else draft + _PASTE.sub("", data).replace("\x1b", "")
        if submits:
            at = next((time for time, kind, _ in events if kind == "o" and time > at), at)
        found.append((at, DRAFT if draft else EMPTY, draft))
    for start, until in spans if found else []:
        after = [entry for entry in found if entry[0] <= until][-1:]
        found += [(start, DIALOG, ""), *((until, state, text) for _, state, text in after)]
    return sorted(found)


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


def extract_reply(lines: list[str], prompt: str | None, start: int | None = None, **more: Any) -> str:
    """The text of the reply on the screen, for a prompt whose echo is there."""
    found = find_reply(lines, prompt, start, **more)
    return found.text if found is not None else ""
