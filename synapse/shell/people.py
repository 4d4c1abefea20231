"""Whom a line can be addressed to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from synapse.errors import SynapseError
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.registry import ALL, ALL_HERE, AgentRegistry


class Person(NamedTuple):
    name: str
    about: str


def people(startable: Iterable[str] = ()) -> list[Person]:
    """Everybody there is at this moment, and who is started when something is sent to him; each name once,
    for the one who is sent what is sent to it."""
    found: list[Person] = []
    try:
        for entry in AgentRegistry().list_agents().values():
            found.append(Person(str(entry["name"]), f"{entry['agent_type']}, {str(entry['status']).lower()}"))
    except (SynapseError, OSError):
        pass  # what is wrong with the registry is said when somebody is sent something
    if found:
        found.append(Person(ALL, "every running agent"))
        found.append(Person(ALL_HERE, "every agent that runs in this directory"))
    try:
        found += [Person(agent.alias, agent.url) for agent in ExternalAgentRegistry().list_agents()]
    except (SynapseError, OSError):
        pass
    found += [Person(name, "not running") for name in startable]
    named: dict[str, Person] = {}
    for person in found:
        named.setdefault(person.name.casefold(), person)
    return list(named.values())
