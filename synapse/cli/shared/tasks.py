"""Finds the task that a command is for, on this machine or on another one."""

from typing import NamedTuple

from synapse.errors import NoSuchAgent
from synapse.peers import remote
from synapse.peers.base import Peer
from synapse.peers.origin import Origin
from synapse.registry import AgentRegistry, Entry
from synapse.tasks import shelf
from synapse.tasks.task import Task, task_of_document


class FoundTask(NamedTuple):
    """A task; `entry` is that of its agent, if it runs on another machine. `short` is its id in sentences."""

    task: Task
    agent_id: str
    short: str
    entry: Entry | None = None

    def peer(self) -> Peer | None:
        """The agent that has it, if only messages reach it."""
        if self.entry is None or remote.is_reachable(self.entry):
            return None
        return remote.peer_of(self.entry, origin=Origin.of_this_process())

    def agent(self) -> Entry:
        """The running agent that has it, with a socket that answers here."""
        entry = AgentRegistry().list_agents().get(self.agent_id) if self.entry is None else self.entry
        if entry is None or "port" not in entry:
            raise NoSuchAgent(
                "the agent of this task has ended: `synapse task` shows the last state of the task."
            )
        return remote.reach(entry)


def find_task(task_id: str) -> FoundTask:
    """A task by its id or the beginning of it: of this machine or, as `id@machine`, of another one."""
    if remote.is_remote(task_id):
        entry, document = remote.find_task(task_id)
        found = task_of_document(document)
        return FoundTask(found, str(entry["agent_id"]), f"{found.short_id}@{entry['machine']}", entry)
    agent_id, task = shelf.find_task(task_id)
    return FoundTask(task, agent_id, task.short_id)
