"""What an agent's server tells clients about the agent."""

from dataclasses import dataclass

from synapse import __version__

CARD = "/.well-known/agent-card.json"  # the path of the agent card in the A2A standard
REST = "/a2a"  # the prefix of the standard's HTTP+JSON routes


@dataclass(eq=False)
class About:
    agent_id: str
    name: str
    agent_type: str
    working_dir: str
    url: str  # without a path
    title: str = ""
    description: str = ""
    version: str = __version__
    grpc_port: int = 0  # while gRPC is served
    mesh_url: str = ""  # while it takes part in a mesh

    @property
    def what(self) -> str:
        return self.title or self.agent_type

    @property
    def summary(self) -> str:
        return self.description or f"{self.what}, in a terminal of its own, wrapped by Synapse"
