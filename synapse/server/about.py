"""What an agent's server tells clients about the agent."""

from dataclasses import dataclass

from synapse import __version__

CARD = "/.well-known/agent-card.json"  # the path of the agent card in the A2A standard
REST = "/a2a"  # the prefix of the standard's HTTP+JSON routes


@dataclass(frozen=True)
class About:
    agent_id: str
    name: str
    agent_type: str
    working_dir: str
    url: str  # without a path
    title: str = ""
    description: str = ""
    version: str = __version__
    grpc: str = ""  # host:port, only if the card shall have it

    @property
    def what(self) -> str:
        return self.title or self.agent_type

    @property
    def summary(self) -> str:
        return self.description or f"{self.what}, in a terminal of its own, wrapped by Synapse"
