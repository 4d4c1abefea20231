"""What an agent is to others: who it is, and where."""

from __future__ import annotations

from dataclasses import dataclass

from synapse import __version__

CARD = "/.well-known/agent-card.json"  # where the standard looks for it
REST = "/a2a"  # below this, the standard over HTTP+JSON


@dataclass(frozen=True)
class About:
    """One agent. `url` is where it is reached, without a path."""

    agent_id: str
    name: str
    agent_type: str
    working_dir: str
    url: str
    title: str = ""
    description: str = ""
    version: str = __version__
    grpc: str = ""  # host:port, only if it is to be in the card

    @property
    def what(self) -> str:
        """What kind of agent it is, for people."""
        return self.title or self.agent_type

    @property
    def summary(self) -> str:
        return self.description or f"{self.what}, in a terminal of its own, wrapped by Synapse"
