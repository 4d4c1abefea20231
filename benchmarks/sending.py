"""Commands that send: one message beside a bare Python and `curl`, one to twenty agents, from a sandbox, a
long list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import COMMAND, PYTHON, Peers, Place, wait
from benchmarks.table import BARE, CURL, SYNAPSE, Row, median
from synapse.registry import READY, AgentRegistry
from tests.support import no_connect

ROUNDS = 15
LISTED = 50
ADDRESSED = 20
SEND_TIMES = 6  # the time of a Python that does nothing
LIST = 150.0  # ms
SANDBOX = 100.0  # ms more than without one
SESSION = "BENCH_SESSION"
# The same start without the filter, so that only the way differs.
UNFILTERED = "import ctypes, os, platform, struct, sys; os.execvp(sys.argv[1], sys.argv[1:])"
BODY = json.dumps({"message": "say x"})


def run() -> list[Row]:
    with Place() as place:
        # One agent sends another more messages a minute than agents that talk may.
        place.file("synapse/config.yaml", "routing: {pair_per_minute: 0}\n")
        return [*_listing(place), *_messages(place)]


def _listing(place: Place) -> list[Row]:
    with _entries(place, LISTED):
        taken = _rounds(place, {"list": [COMMAND, "list"]})
    milliseconds = median(taken["list"])
    figure, goal = f"synapse list, {LISTED} agents", f"at most {LIST:g}"
    return [Row(figure, "ms", {SYNAPSE: milliseconds}, goal, milliseconds <= LIST)]


def _messages(place: Place) -> list[Row]:
    names = [f"agent{number}" for number in range(ADDRESSED)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: place.run(COMMAND, "start", "dummy", "--name", name), names))
    wait(lambda: all(entry["status"] == READY for entry in place.agents()), f"{ADDRESSED} agents to be ready")
    endpoint = next(entry["endpoint"] for entry in place.agents() if entry["name"] == names[0])
    commands = {
        BARE: [PYTHON, "-c", "pass"],
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
    commands |= _from_an_agent(place, names)
    taken = {name: median(values) for name, values in _rounds(place, commands).items()}
    more = taken["sandbox"] - taken["agent"]
    values = {BARE: taken[BARE], CURL: taken.get(CURL), SYNAPSE: taken["send"]}
    goal, met = f"at most {SEND_TIMES} x python -c pass", taken["send"] <= SEND_TIMES * taken[BARE]
    return [
        Row("synapse send --no-wait", "ms", values, goal, met, peers.notes),
        Row("synapse send --return, one agent", "ms", {SYNAPSE: taken["one"]}),
        Row(f"synapse send all --return, {ADDRESSED} agents", "ms", {SYNAPSE: taken["all"]}),
        Row("send --return by an agent", "ms", {SYNAPSE: taken["agent"]}),
        Row("the same from a sandbox, through the FIFO", "ms", {SYNAPSE: taken["sandbox"]}),
        Row("more because of the FIFO", "ms", {SYNAPSE: more}, f"at most {SANDBOX:g}", more <= SANDBOX),
    ]


def _from_an_agent(place: Place, names: list[str]) -> dict[str, list[str]]:
    """A command of an agent, which is known by the variable that its CLI sets, with and without a sandbox."""
    me = next(str(entry["agent_id"]) for entry in place.agents() if entry["name"] == names[1])
    place.file(f"synapse/agents/{me}/session.json", json.dumps({"variable": SESSION, "session": "mine"}))
    send = ["env", f"{SESSION}=mine", COMMAND, "send", names[0], "--return", "say x"]
    return {"agent": [PYTHON, "-c", UNFILTERED, *send], "sandbox": [PYTHON, no_connect.__file__, *send]}


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
