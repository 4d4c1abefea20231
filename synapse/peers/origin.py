"""Who sends a message, and the chain of agents that it comes through."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from synapse.errors import SynapseError
from synapse.peers.task import A2ATask, Json
from synapse.tasks.loop_guard import KEY, NOTICE, Chain


class Origin(NamedTuple):
    """The agent that a message comes from. `in_turn`: the agent itself sends it, in its own turn, and
    the one that waits is the agent; otherwise a human does, at its terminal."""

    id: str
    name: str
    in_turn: bool = True

    @classmethod
    def from_environment(cls) -> Origin | None:
        agent_id = os.environ.get("SYNAPSE_AGENT_ID")
        return cls(agent_id, os.environ.get("SYNAPSE_AGENT_NAME") or agent_id) if agent_id else None

    @property
    def sender(self) -> Json:
        return {"id": self.id, "name": self.name}


async def chain_of(
    origin: Origin | None, waits: bool, running: Callable[[str], Awaitable[A2ATask | None]]
) -> Json:
    """The metadata of a message: the agents that it comes through, `origin` the last.

    `running` gives the task that an agent is working on.
    """
    if origin is None:
        return {}
    chain = Chain()
    if origin.in_turn:
        try:
            task = await running(origin.id)
        except SynapseError:
            task = None  # our own host cannot be asked: it is being replaced, or has ended before us
        chain = Chain.of(task.metadata, task.message.get("metadata")) if task else chain
    found = chain.then(origin.id, waits and origin.in_turn).to_dict()
    return {KEY: found | {NOTICE: True} if origin.in_turn and not waits else found}
