"""Finds the agents of the mesh: `codex@box`. The mesh carries messages; a terminal is reached by SSH."""

from __future__ import annotations

import asyncio
from typing import NoReturn

from synapse.errors import SynapseError, TargetError
from synapse.peers.base import Listed, Peer, RemoteSource
from synapse.peers.mesh import membership
from synapse.peers.mesh.names import agent_key
from synapse.peers.mesh.peer import MeshPeer
from synapse.peers.mesh.roster import MeshAgent, Roster
from synapse.peers.origin import Origin
from synapse.peers.status import MachineStatus
from synapse.peers.task import Json
from synapse.registry import AgentRegistry, Entry

LEAST = 4  # characters of an abbreviated task id


class MeshSource(RemoteSource):
    kind = membership.KIND

    def __init__(self, registry: AgentRegistry | None = None, origin: Origin | None = None) -> None:
        self._registry = registry or AgentRegistry()
        self._origin = origin
        self._member = membership.membership()
        self._roster = Roster(self._member)

    def find(self, name: str) -> Peer:
        return self._peer(self._roster.find(name))

    def at(self, place: str, name: str) -> Peer:
        machine, _, agent_id = place.partition("/")
        called = name.partition("@")[0]
        known = self._roster.by_id(agent_id, machine)
        return self._peer(known or MeshAgent(agent_id, agent_key(agent_id), called, called, machine))

    def author(self, sender: Json) -> Peer | None:
        """The machine in the name of a sender was written by its receiver, from the subject."""
        machine = str(sender.get("name") or "").partition("@")[2]
        known = self._roster.by_id(str(sender.get("id")), machine) if machine else None
        return self._peer(known) if known else None

    def names(self) -> set[str]:
        found = set()
        for agent in self._roster.agents():
            found |= {agent.address, f"{agent.type}@{agent.machine}", f"@{agent.machine}"}
        return found

    def listed(self) -> list[Listed]:
        return [
            Listed(agent.address, f"{agent.type}, {'stale' if agent.stale else agent.status.lower()}")
            for agent in self._roster.agents()
        ]

    @property
    def folder(self) -> str:
        return self._roster.folder

    def machines(self) -> list[MachineStatus]:
        asleep = {agent.machine: agent.stale for agent in self._roster.agents()}
        where = f"the mesh {self._member.team!r}"
        note = "it does not answer; messages to it wait in its mailboxes."
        return [
            MachineStatus(machine, where, not stale, note if stale else "")
            for machine, stale in sorted(asleep.items())
        ]

    def entries(self, patience: float) -> list[Entry]:
        return [self._entry(agent) for agent in self._roster.agents(patience)]

    def entry(self, name: str) -> Entry:
        return self._entry(self._roster.find(name))

    def reach(self, entry: Entry) -> NoReturn:
        self._refuse(entry)

    def attach(self, entry: Entry) -> NoReturn:
        self._refuse(entry)

    def _refuse(self, entry: Entry) -> NoReturn:
        raise SynapseError(
            f"{entry['name']} is reached over the mesh, which carries messages only: for its terminal, "
            f"add the machine with `synapse machine add {entry['machine']} ssh://…`."
        )

    def peer(self, entry: Entry) -> Peer:
        known = self._roster.by_id(str(entry["agent_id"]), str(entry["machine"]))
        if known is None:
            raise TargetError(f"{entry['name']} has ended: `synapse list` shows who is running.")
        return self._peer(known)

    def tasks(self, entry: Entry) -> list[Json]:
        known = self._roster.by_id(str(entry["agent_id"]), str(entry["machine"]))
        return asyncio.run(self._peer(known).tasks()) if known else []

    def task(self, machine: str, task_id: str) -> tuple[Entry, Json]:
        """Only tasks that this machine sent: its agents show nobody those of others."""
        there = [agent for agent in self._roster.agents() if agent.machine == machine.casefold()]
        found = []
        for agent in there if len(task_id) >= LEAST else ():
            tasks = asyncio.run(self._peer(agent).tasks())
            found += [(self._entry(agent), task) for task in tasks if str(task.get("id")).startswith(task_id)]
        if len(found) != 1:
            many = "several tasks begin" if found else "no task of this machine begins"
            raise TargetError(f"{many} with {task_id!r} on {machine}: `synapse tasks` lists them.")
        return found[0]

    def _entry(self, agent: MeshAgent) -> Entry:
        return {
            "agent_id": agent.id,
            "name": agent.address,
            "name_there": agent.name,
            "agent_type": agent.type,
            "port": "-",
            "status": agent.status,
            "pid": "-",
            "working_dir": agent.directory,
            "endpoint": f"{self._member.urls[0]}",
            "machine": agent.machine,
            "host": agent.machine,
            "source": self.kind,
            "stale": agent.stale,
            "messages_only": True,
        }

    def _peer(self, agent: MeshAgent) -> MeshPeer:
        return MeshPeer(agent, self._member, self._registry, self._origin)
