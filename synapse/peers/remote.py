"""The agents of other machines, whichever way they are reached: `agent@machine`.

What shows or drives agents calls these functions. They load nothing while no other machine is known, and they
block, `reach` for some seconds: asynchronous code calls them in a thread.
"""

from __future__ import annotations

import os

from synapse.base import paths
from synapse.errors import NoSuchAgent
from synapse.registry import AgentRegistry, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from synapse.peers.base import Peer, RemoteSource
    from synapse.peers.origin import Origin
    from synapse.peers.status import MachineStatus
    from synapse.peers.task import Json

    Result = TypeVar("Result")

PATIENCE = 0.3  # seconds that a list waits for machines


def remote_sources(registry: AgentRegistry | None = None, origin: Origin | None = None) -> list[RemoteSource]:
    """Those that are in use. A machine that two of them know is that of the first."""
    sources: list[RemoteSource] = []
    if os.path.isdir(paths.machines_dir()):
        from synapse.peers.machines.source import MachineSource

        sources.append(MachineSource(registry, origin))
    if os.path.exists(paths.mesh_file()):
        from synapse.peers.mesh.source import MeshSource

        sources.append(MeshSource(registry, origin))
    return sources


def is_remote(name: str) -> bool:
    return "@" in name


def remote_entries(patience: float = PATIENCE) -> list[Entry]:
    """The agents of all other machines, each name once."""
    found: dict[str, Entry] = {}
    for source in remote_sources():
        for entry in source.entries(patience):
            found.setdefault(str(entry["name"]).casefold(), entry)
    return list(found.values())


def never_wait() -> None:
    """This process is a host: what is known of other machines is kept up to date for it."""
    if os.path.exists(paths.mesh_file()):
        from synapse.peers.mesh import roster

        roster.is_kept = True


def is_reachable(entry: Entry) -> bool:
    """Whether `reach` finds a way to the agent itself. The mesh carries messages only."""
    return not entry.get("messages_only")


def machine_states() -> list[MachineStatus]:
    return [one for source in remote_sources() for one in source.machines()]


def key_of(entry: Entry) -> str:
    """What identifies an agent among those of all machines."""
    machine = entry.get("machine")
    return f"{entry['agent_id']}@{machine}" if machine else str(entry["agent_id"])


def source_of(machine: str, sources: list[RemoteSource] | None = None) -> RemoteSource:
    """The source that knows the machine. Raises NoSuchAgent."""
    wanted = machine.casefold()
    for source in remote_sources() if sources is None else sources:
        if any(one.name.casefold() == wanted for one in source.machines()):
            return source
    from synapse.peers.machines.machine import no_machine

    raise NoSuchAgent(no_machine(machine))


def find_entry(name: str) -> Entry:
    """The entry of `agent@machine`, with a socket that answers here."""
    source = source_of(name.partition("@")[2])
    return source.reach(source.entry(name))


def find_anywhere(name: str) -> Entry:
    """The entry of an agent of this machine or of another one, with a socket that answers here."""
    return find_entry(name) if is_remote(name) else AgentRegistry().resolve(name)


def reach(entry: Entry) -> Entry:
    """An entry with a socket that answers here: the same for an agent of this machine."""
    machine = entry.get("machine")
    return source_of(str(machine)).reach(entry) if machine else entry


def peer_of(entry: Entry, registry: AgentRegistry | None = None, origin: Origin | None = None) -> Peer:
    """The peer for an entry, of this machine or of another one."""
    registry = registry or AgentRegistry()
    if machine := entry.get("machine"):
        return source_of(str(machine), remote_sources(registry, origin)).peer(entry)
    from synapse.peers.local import LocalPeer

    return LocalPeer(registry, entry, origin)


def sender_there(origin: Origin, entry: Entry) -> Json:
    """An agent of this machine as the sender of a request to the agent of `entry`."""
    if not entry.get("machine"):
        return origin.sender
    return origin.sender | {"name": f"{origin.name}@{this_machine()}"}


def this_machine() -> str:
    """The name of this machine in the names of senders."""
    return os.uname().nodename.partition(".")[0]


def await_reply(origin: Origin, peer: Peer, task_id: str) -> None:
    """Let the host of the agent that has sent a message without waiting bring it the reply."""
    from synapse.base import files, jsontext

    entry = AgentRegistry().list_agents().get(origin.id, {})
    document = {"address": peer.address, "name": peer.name, "task": task_id, "relay": entry.get("pid")}
    try:
        folder = paths.private_dir(paths.awaited_dir(origin.id))
        files.replace(os.path.join(folder, f"{task_id}.json"), jsontext.dumps(document).encode())
    except OSError:
        pass  # a sandbox; `synapse task` shows the reply


async def in_thread(function: Callable[..., Result], *arguments: object) -> Result:
    """What a function that blocks returns. In a sandbox, where no thread can wake an event loop, it is called
    as it is."""
    import asyncio

    from synapse.peers.fifo import is_forbidden

    if is_forbidden():
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


def find_task(task_id: str) -> tuple[Entry, Json]:
    """A task `id@machine`, and the entry of its agent."""
    short, _, machine = task_id.partition("@")
    return source_of(machine).task(machine, short)
