"""Commands that send: one message compared with `curl`, one to twenty agents, and a list of many agents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import COMMAND, Peers, Place, wait
from benchmarks.table import CURL, SYNAPSE, Row, median
from synapse.registry import READY, AgentRegistry

ROUNDS = 15
LISTED = 50
ADDRESSED = 20
SEND_MORE = 250.0  # ms over curl
LIST = 150.0  # ms
BODY = json.dumps({"message": "say x"})


def run() -> list[Row]:
    with Place() as place:
        return [*_listing(place), *_messages(place)]


def _listing(place: Place) -> list[Row]:
    with _entries(place, LISTED):
        taken = _rounds(place, {"list": [COMMAND, "list"]})
    return [_row(f"synapse list, {LISTED} agents", {SYNAPSE: median(taken["list"])}, LIST)]


def _messages(place: Place) -> list[Row]:
    names = [f"agent{number}" for number in range(ADDRESSED)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: place.run(COMMAND, "start", "dummy", "--name", name), names))
    wait(lambda: all(entry["status"] == READY for entry in place.agents()), f"{ADDRESSED} agents to be ready")
    endpoint = next(entry["endpoint"] for entry in place.agents() if entry["name"] == names[0])
    commands = {
        "send": [COMMAND, "send", names[0], "--no-wait", "say x"],
        "one": [COMMAND, "send", names[0], "--return", "say x"],
        "all": [COMMAND, "send", "all", "--return", "say x"],
    }
    peers = Peers(CURL)
    for curl in peers:
        how = ["-sf", "--noproxy", "*", "-H", "Content-Type: application/json", "-d", BODY]
        with peers.attempt(curl):
            place.run(curl, *how, f"{endpoint}/tasks/send")
            commands[curl] = [curl, *how, f"{endpoint}/tasks/send"]
    taken = {name: median(values) for name, values in _rounds(place, commands).items()}
    limit = taken[CURL] + SEND_MORE if CURL in taken else None
    first = _row("synapse send --no-wait", {CURL: taken.get(CURL), SYNAPSE: taken["send"]}, limit)
    first.notes = peers.notes
    return [
        first,
        _row("synapse send --return, one agent", {SYNAPSE: taken["one"]}),
        _row(f"synapse send all --return, {ADDRESSED} agents", {SYNAPSE: taken["all"]}),
    ]


def _rounds(place: Place, commands: Mapping[str, list[str]]) -> dict[str, list[float]]:
    """Milliseconds of each, taken in turns; the first turn fills the caches."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(ROUNDS + 1):
        for name, argv in commands.items():
            milliseconds = place.run(*argv) * 1e3
            if turn:
                taken[name].append(milliseconds)
    return taken


@contextmanager
def _entries(place: Place, number: int) -> Iterator[None]:
    """Register agents that do not run; they count as running, because this process holds their locks."""
    registry = AgentRegistry(Path(place.path, "a2a", "registry"))
    ids = [registry.get_agent_id("claude", place.path, instance) for instance in range(1, number + 1)]
    try:
        for instance, agent_id in enumerate(ids, 1):
            name = f"claude-{instance}"
            registry.register(agent_id, "claude", 9000 + instance, READY, name=name, working_dir=place.path)
        yield
    finally:
        for agent_id in ids:
            registry.unregister(agent_id)


def _row(figure: str, values: Mapping[str, float | None], limit: float | None = None) -> Row:
    if limit is None:
        return Row(figure, "ms", values)
    goal = f"at most {SEND_MORE:g} ms over curl" if CURL in values else f"at most {limit:g}"
    return Row(figure, "ms", values, goal, (values[SYNAPSE] or 0.0) <= limit)
