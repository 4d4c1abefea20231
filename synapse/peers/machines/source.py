"""The agents of machines that are reached by SSH, by their names. Light: `synapse list` loads it."""

from __future__ import annotations

import os
import time

from synapse.errors import NoSuchAgent, SynapseError, TargetError
from synapse.peers.machines import known
from synapse.peers.machines.known import KIND, Known
from synapse.peers.machines.machine import Machine, Machines
from synapse.peers.status import MachineStatus
from synapse.registry import AgentRegistry, Entry, resolve_among

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.peers.base import Listed, Peer
    from synapse.peers.origin import Origin
    from synapse.peers.task import Json

CONNECTED = 15.0  # seconds for a command to wait until a machine is connected


class MachineSource:
    """A `RemoteSource` in its form: to inherit it would load `typing`, half of the time of `synapse list`."""

    kind = KIND

    def __init__(self, registry: AgentRegistry | None = None, origin: Origin | None = None) -> None:
        self._registry = registry or AgentRegistry()
        self._origin = origin
        self._machines = Machines()

    def find(self, name: str) -> Peer:
        agent, _, where = name.partition("@")
        machine = self._machines.get(where)
        found = known.want(machine)
        try:
            return self.peer(resolve_there(found, agent))
        except NoSuchAgent:
            if found.connected:
                raise
            return self.peer({"name": f"{agent}@{machine.name}", "machine": machine.name})

    def at(self, place: str, name: str) -> Peer:
        agent, _, where = place.rpartition("@")
        machine = self._machines.get(where)
        entry = known.read(machine).agent(agent)
        is_id = len(agent) == 64
        return self.peer(entry or {"name": name, "agent_id": agent if is_id else "", "machine": machine.name})

    def author(self, sender: Json) -> Peer | None:
        return None  # a machine that sends here is not one that is known here

    def everybody(self, here: bool) -> list[Peer]:
        return []

    def tasks(self, entry: Entry) -> list[Json]:
        return []  # every agent is reached

    def names(self) -> set[str]:
        found = {f"@{machine.name}" for machine in self._machines.list()}
        return found | {str(entry["name"]) for entry in self._all()}

    def listed(self) -> list[Listed]:
        from synapse.peers.base import Listed

        return [
            Listed(str(entry["name"]), f"{entry['agent_type']}, {_status(entry)} on {entry['host']}")
            for entry in self._all()
        ]

    @property
    def folder(self) -> str:
        return self._machines.folder

    def _all(self) -> list[Entry]:
        return [entry for machine in self._machines.list() for entry in known.read(machine).agents]

    def machines(self) -> list[MachineStatus]:
        found = [(machine, known.read(machine)) for machine in self._machines.list()]
        return [MachineStatus(machine.name, machine.url, k.connected, k.note) for machine, k in found]

    def entries(self, patience: float) -> list[Entry]:
        return [entry for found in look(self._machines.list(), patience) for entry in found.agents]

    def entry(self, name: str) -> Entry:
        agent, _, where = name.partition("@")
        return resolve_there(connected(self._machines.get(where)), agent)

    def reach(self, entry: Entry) -> Entry:
        machine = self._machines.get(str(entry["machine"]))
        found = connected(machine)
        now = found.agent(str(entry["agent_id"]))
        if now is None:
            raise TargetError(f"{entry['name']} has ended: `synapse list` shows who is running.")
        if not os.path.exists(str(now["socket"])):
            from synapse.peers.machines import ssh

            ssh.forward(machine, now)
        return now

    def peer(self, entry: Entry) -> Peer:
        from synapse.peers.machines.peer import MachinePeer

        machine = self._machines.get(str(entry["machine"]))
        return MachinePeer(machine, entry, self._registry, self._origin)

    def task(self, machine: str, task_id: str) -> tuple[Entry, Json]:
        there = self._machines.get(machine)
        found = connected(there)
        from synapse.peers.machines import ssh

        document = ssh.run(there, ["task", task_id, "--json"])
        agent_id = str(document.get("agent_id"))
        gone: Entry = {"name": f"{agent_id[:8]}@{there.name}", "agent_id": agent_id, "machine": there.name}
        return found.agent(agent_id) or gone, document

    def attach(self, entry: Entry) -> list[str]:
        machine = self._machines.get(str(entry["machine"]))
        from synapse.peers.machines import ssh

        connected(machine)
        return ssh.session(machine, ["attach", str(entry["name_there"])], terminal=True)


def connected(machine: Machine) -> Known:
    """What is known of the machine, once it is connected. Raises SynapseError if it cannot be."""
    found = known.wait(machine, CONNECTED)
    if not found.connected:
        raise SynapseError(
            f"{machine.name} cannot be reached: {found.note or 'it does not answer: try again.'}"
        )
    return found


def look(machines: list[Machine], patience: float) -> list[Known]:
    """All machines at the same time: those that are not connected after `patience` seconds are stale."""
    deadline = time.monotonic() + patience
    for machine in machines:
        known.want(machine)
    return [known.wait(machine, deadline - time.monotonic(), now=False) for machine in machines]


def resolve_there(found: Known, agent: str) -> Entry:
    """The agent that this name means there. Raises NoSuchAgent, or TargetError if it could be several."""
    entries = [{**entry, "name": entry["name_there"]} for entry in found.agents]
    try:
        chosen = resolve_among(entries, agent, "")
    except NoSuchAgent:
        names = ", ".join(str(entry["name"]) for entry in found.agents) or "none"
        raise NoSuchAgent(
            f"no agent named {agent!r} is running on {found.machine.name} (running there: {names}): "
            f"start it there with `synapse start {agent}`."
        ) from None
    return {**chosen, "name": f"{chosen['name']}@{found.machine.name}"}


def _status(entry: Entry) -> str:
    return "stale" if entry["stale"] else str(entry["status"]).lower()
