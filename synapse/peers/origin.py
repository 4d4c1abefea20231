"""The agent that a message comes from."""

from __future__ import annotations

import os
from typing import NamedTuple

from synapse.peers.task import Json


class Origin(NamedTuple):
    """`in_turn`: the agent itself sends, in its own turn; otherwise a human sends at its terminal."""

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
