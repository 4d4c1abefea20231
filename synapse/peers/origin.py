"""The agent that a message comes from."""

from __future__ import annotations

import os

from synapse.base import files, paths, processes
from synapse.base.record import Record
from synapse.registry import AgentRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.peers.task import Json


class Origin(Record):
    """`in_turn`: the agent itself sends, in its own turn; otherwise a human sends at its terminal."""

    id: str
    name: str
    in_turn: bool

    def __init__(self, id: str, name: str, in_turn: bool = True) -> None:
        super().__init__(id=id, name=name, in_turn=in_turn)

    @classmethod
    def of_this_process(cls) -> Origin | None:
        """The agent that runs this command, if that is proved.

        Variables alone prove nothing: a server that several agents share, or tmux, has those of whichever
        agent started it. The id of a conversation that a CLI gives its tools is right everywhere; without
        one, the agent's relay must be an ancestor of this process."""
        agents = AgentRegistry().list_agents()
        is_told = False
        for agent_id, entry in agents.items():
            kept = files.read_object(paths.session_file(agent_id))
            session = os.environ.get(str(kept.get("variable")))
            if session and session == kept.get("session"):
                return cls(agent_id, str(entry["name"]))
            is_told = is_told or bool(session)
        claimed = cls.from_environment()
        if claimed is None or claimed.id not in agents or is_told:
            return None
        return claimed if _may_be_under(int(str(agents[claimed.id]["pid"]))) else None

    @classmethod
    def from_environment(cls) -> Origin | None:
        """What the variables say: enough to forbid something, too little to sign with."""
        agent_id = os.environ.get("SYNAPSE_AGENT_ID")
        return cls(agent_id, os.environ.get("SYNAPSE_AGENT_NAME") or agent_id) if agent_id else None

    @property
    def sender(self) -> Json:
        return {"id": self.id, "name": self.name}


def _may_be_under(relay: int) -> bool:
    """A sandbox with process numbers of its own hides the relay; then nothing speaks against it."""
    return relay in processes.ancestors() or not os.path.exists(f"/proc/{relay}")
