"""The other end of a connection: says which agents run on this machine, until standard input ends.

`synapse machine feed` prints one JSON object a line: first {"synapse": version, "host": name}, then
{"agents": […]} whenever they change, and {} every two seconds, so that the reader knows that the connection
is alive.
"""

from __future__ import annotations

import os
import select
import sys
import time

from synapse import __version__
from synapse.base import jsontext
from synapse.errors import SynapseError
from synapse.registry import AgentRegistry

LOOK = 0.25  # seconds between two looks at the registry's directory
LOOK_AT_ALL = 2.0  # seconds between two looks at every entry: nothing tells that an agent was killed


def feed() -> int:
    """Returns when the reader is gone."""
    registry = AgentRegistry()
    try:
        _say({"synapse": __version__, "host": os.uname().nodename})
        seen, told, looked = -1, None, 0.0
        while True:
            stamp, now = _changed(registry.registry_dir), time.monotonic()
            if stamp != seen or now - looked >= LOOK_AT_ALL:
                is_due, seen, looked = now - looked >= LOOK_AT_ALL, stamp, now
                agents = _agents(registry)
                if agents != told:
                    told = agents
                    _say({"agents": agents})
                elif is_due:
                    _say({})
            if select.select([0], [], [], LOOK)[0] and not os.read(0, 4096):
                return 0
    except (BrokenPipeError, KeyboardInterrupt):
        return 0


def _agents(registry: AgentRegistry) -> list[dict[str, object]]:
    try:
        return list(registry.list_agents().values())
    except SynapseError:
        return []


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _say(document: dict[str, object]) -> None:
    sys.stdout.write(jsontext.dumps(document).replace("\n", " ") + "\n")
    sys.stdout.flush()
