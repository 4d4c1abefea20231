"""Commands: how long each takes, compared with a Python that does nothing."""

from __future__ import annotations

from benchmarks.peers import COMMAND, PYTHON, Place
from benchmarks.table import BARE, SYNAPSE, Row, median

ROUNDS = 25
TIMES = 4
AGENTS = 3


def run() -> list[Row]:
    with Place() as empty, Place() as busy:
        busy.profile("/bin/cat")
        for _ in range(AGENTS):
            busy.run(COMMAND, "start", "agent")
        if len(busy.agents()) != AGENTS:
            raise RuntimeError(f"not {AGENTS} agents are running, but {len(busy.agents())}")
        commands = {
            "python -c pass": (empty, [PYTHON, "-c", "pass"]),
            "synapse --help": (empty, [COMMAND, "--help"]),
            "synapse list, no agent": (empty, [COMMAND, "list"]),
            f"synapse list, {AGENTS} agents": (busy, [COMMAND, "list"]),
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(ROUNDS + 1):  # the first fills the caches
            for name, (place, argv) in commands.items():
                milliseconds = place.run(*argv) * 1e3
                if turn:
                    taken[name].append(milliseconds)
    bare, *ours = ((name, median(values)) for name, values in taken.items())
    goal = f"at most {TIMES} x python -c pass"
    return [
        Row(name, "ms", {BARE: bare[1], SYNAPSE: value}, goal, value <= TIMES * bare[1])
        for name, value in ours
    ]
