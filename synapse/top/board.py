"""The agents as lines: who needs the human, who works, who is idle. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from synapse.base.text import for_cells
from synapse.peers import prompts
from synapse.terminal.cells import crop, width, wrap

Json = dict[str, Any]

NEEDS_YOU, WORKING, IDLE = "needs_you", "working", "idle"
HEADINGS = {NEEDS_YOU: "Needs you", WORKING: "Working", IDLE: "Idle"}
SORTS = ("since", "name")
NAME = 16  # cells of a name at most
AGE = 4  # cells


@dataclass(frozen=True)
class Item:
    """One agent. `line` says what it asks, what it works on and for whom; `since` is wall clock."""

    id: str
    name: str
    group: str
    since: float
    line: str
    question: Json | None = None


def item_of(agent: Json) -> Item:
    """From the document that `view.agents.Agent.to_dict` returns."""
    question = agent.get("question")
    since = question["asked_at"] if question else (agent.get("work") or {}).get("since") or agent.get("since")
    group = agent["group"] if agent["group"] in HEADINGS else IDLE
    return Item(agent["id"], agent["name"], group, moment(since), one_line(_line(agent)), question)


def _line(agent: Json) -> str:
    if question := agent.get("question"):
        where = "" if question.get("task") else " (in its human's turn)"
        return f"asks: {prompts.about(question)}{where}"
    if menu := agent.get("menu"):
        behind = f", and {agent['waiting']} waiting behind it" if agent.get("waiting") else ""
        return f"a menu is open at its terminal{behind}: {menu}"
    if agent["group"] == NEEDS_YOU:
        return "asks something: look at its screen (Space)"
    if not agent.get("connected"):
        return "connecting …" if agent.get("connecting") else "does not answer"
    waiting = f"{agent['waiting']} waiting" if agent.get("waiting") else ""
    work = agent.get("work")
    if agent["group"] == IDLE or not work:
        return waiting
    whom = f"for {work['from']}: " if work.get("task") and work.get("from") else ""
    whom = whom or ("" if work.get("task") else "its human's turn: ")
    return f"{whom}{work.get('text') or ''}" + (f" ({waiting})" if waiting else "")


def one_line(text: str) -> str:
    return " ".join(for_cells(text).split())


def moment(stamp: object) -> float:
    """Wall clock of a time stamp; 0 if it is none."""
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return 0.0


def age(since: float, now: float) -> str:
    """`5s`, `3m`, `2h`, `4d`; nothing for a time that is not known."""
    if not since:
        return ""
    seconds = max(now - since, 0)  # clocks may differ
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f}{unit}"
    return f"{seconds:.0f}s"


def arranged(items: Iterable[Item], wanted: str = "", sort: str = SORTS[0]) -> list[Item]:
    """The items that match the filter, group by group; the longest wait first, or by name."""
    words = wanted.casefold().split()
    found = [i for i in items if all(word in f"{i.name} {i.line}".casefold() for word in words)]
    groups = list(HEADINGS)

    def key(item: Item) -> tuple[object, ...]:
        since = -item.since if item.group == IDLE else item.since  # of idle ones the last first
        place = (item.name.casefold(),) if sort == "name" else (since, item.name.casefold())
        return groups.index(item.group), *place

    return sorted(found, key=key)


def filter_line(wanted: str, shown: int, total: int) -> str:
    return f" {shown} of {total} shown · filter: {one_line(wanted)} (Escape: all)"


def row(item: Item, columns: int, name_cells: int, now: float) -> str:
    """One agent in exactly this many cells or fewer."""
    name = fitted(item.name, name_cells)
    name += " " * (name_cells - width(name))
    return fitted(f"  {name}  {age(item.since, now):>{AGE}}  {item.line}", columns).rstrip()


def name_cells(items: Iterable[Item], columns: int) -> int:
    widest = max((width(item.name) for item in items), default=1)
    return max(min(widest, NAME, columns // 3), 1)


def fitted(text: str, columns: int) -> str:
    if width(text) <= columns:
        return text
    return crop(text, max(columns - 1, 0)) + ("…" if columns > 0 else "")


def question_lines(question: Json, columns: int, most: int) -> list[str]:
    """What the selected agent asks, with its numbered options. Long lines are wrapped: nobody is to say yes
    to the beginning of a command. The options are never cut off, the text above is."""
    options = [str(option.get("label", "")) for option in question.get("options") or ()]
    asked = prompts.plain_question({**question, "options": None}).splitlines()
    if prompts.unseen(question):
        listed = [f"Answer in words (a): {'; '.join(options)}"] if options else []
    else:
        listed = [f"{number}. {label}" for number, label in enumerate(options, 1)]
    if question.get("type") == "password":
        listed = ["a secret: press a, and type it; it is not shown"]
    elif question.get("type") == "text":
        listed = ["press a, and type the answer"]
    below = [row for line in listed for row in _wrapped(line, columns, "   ")]
    if len(below) >= most:
        below = [fitted(for_cells(line), columns) for line in listed]
    above = [row for line in asked for row in _wrapped(line, columns, "    ")]
    room = max(most - len(below), 1)
    if len(above) > room:
        above = [*above[: room - 1], fitted(f"… {len(above) - room + 1} lines more (Space)", columns)]
    return [*above, *below][:most]


def _wrapped(line: str, columns: int, indent: str) -> list[str]:
    """The rows of a line, those after the first indented."""
    text = for_cells(line)
    if width(text) <= columns:
        return [text]
    first, *rest = [row for row, _ in wrap(text, max(columns - len(indent), 1))]
    return [first, *(fitted(f"{indent}{row}", columns) for row in rest)]


def scrolled(first: int, selected: int, total: int, room: int) -> int:
    """The first line to show, so that the selected one is seen and nothing moves without need."""
    first = min(max(first, selected - room + 1), selected)
    return max(min(first, total - room), 0)


def run_lines(runs: Iterable[Json], columns: int, most: int, now: float) -> list[tuple[str, str]]:
    """The runs under the agents, each with its steps that are under way or have failed."""
    lines: list[tuple[str, str]] = []
    for run in runs:
        why = f": {run['error']}" if run["error"] else ""
        used = f", {run['tokens']} tokens" if run["tokens"] else ""
        text = f"  {run['id']} {run['state']} {run['done']} of {run['total']} steps{used}{why}"
        lines.append(("", fitted(one_line_kept(text), columns)))
        for step in run["steps"]:
            if run["state"] == "running" and step["state"] != "completed":
                took = age(step["asked_at"], now)
                text = f"    {step['key']} {step['agent']} {step['state']} {took} {step['text']}"
                lines.append(("dim", fitted(one_line_kept(text), columns)))
    if not lines or most < 2:
        return []
    return [("dim", fitted("Runs", columns)), *lines[: most - 1]]


def one_line_kept(text: str) -> str:
    """In one line, with its indentation."""
    return text[: len(text) - len(text.lstrip())] + one_line(text)
