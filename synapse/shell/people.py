"""Whom a line can be addressed to, and who may have been meant."""

from __future__ import annotations

from typing import NamedTuple

from synapse.errors import SynapseError
from synapse.external_agents import ExternalAgentRegistry
from synapse.registry import AgentRegistry

ALL = "all"


class Person(NamedTuple):
    name: str
    about: str


def people() -> list[Person]:
    """Everybody there is at this moment; `all` where there is somebody."""
    found: list[Person] = []
    try:
        for entry in AgentRegistry().list_agents().values():
            found.append(Person(str(entry["name"]), f"{entry['agent_type']}, {str(entry['status']).lower()}"))
    except (SynapseError, OSError):
        pass  # what is wrong with the registry is said when somebody is sent something
    if found:
        found.append(Person(ALL, "every running agent"))
    try:
        found += [Person(agent.alias, agent.url) for agent in ExternalAgentRegistry().list_agents()]
    except (SynapseError, OSError):
        pass
    return found


def nobody_is_called(name: str, names: list[str]) -> str:
    import difflib

    known = [n for n in names if n != ALL]
    if not known:
        return f"no agent is called {name}, and none is running: `synapse start <profile>` starts one."
    by_folded = {n.casefold(): n for n in known}
    near = [by_folded[n] for n in difflib.get_close_matches(name.casefold(), by_folded, 3, 0.5)]
    if near:
        return f"no agent is called {name}; did you mean {' or '.join(near)}?"
    return f"no agent is called {name}; there is {', '.join(known[:8])}."
