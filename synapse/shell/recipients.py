"""The agents that a line can be addressed to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from synapse.errors import SynapseError
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.registry import ALL, ALL_HERE, AgentRegistry


class Recipient(NamedTuple):
    name: str
    about: str


def recipients(startable: Iterable[str] = ()) -> list[Recipient]:
    """The agents that are known now, and those that a message would start. Of two with one name, only the one
    that would get the message is listed."""
    found: list[Recipient] = []
    try:
        for entry in AgentRegistry().list_agents().values():
            found.append(
                Recipient(str(entry["name"]), f"{entry['agent_type']}, {str(entry['status']).lower()}")
            )
    except (SynapseError, OSError):
        pass  # sending a message reports what is wrong with the registry
    if found:
        found.append(Recipient(ALL, "every running agent"))
        found.append(Recipient(ALL_HERE, "every agent that runs in this directory"))
    try:
        found += [Recipient(agent.alias, agent.url) for agent in ExternalAgentRegistry().list_agents()]
    except (SynapseError, OSError):
        pass
    found += [Recipient(name, "not running") for name in startable]
    named: dict[str, Recipient] = {}
    for recipient in found:
        named.setdefault(recipient.name.casefold(), recipient)
    return list(named.values())
