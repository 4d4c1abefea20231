"""Which process has sent an event, and whether it belongs to the agent."""

import socket
import struct
from collections.abc import Callable
from typing import NamedTuple

from synapse.base import processes
from synapse.base.text import for_line

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class Sender(NamedTuple):
    """`is_refused`: it is certain that it is no process of the agent. `note` says what is wrong, if
    anything."""

    is_refused: bool = False
    note: str = ""


OWN = Sender()


def sender_of(connection: socket.socket, session: int) -> Sender:
    """Who is at the other end, for the agent whose session is `session`; to be asked while it waits there.

    A CLI may start its hooks in sessions of their own: they are processes below the leader of its session.
    A process that is gone cannot be told and is accepted. One whose session is led from outside of our
    namespace is not the agent's: the leader of the agent's session is a process that we see."""
    pid = _peer(connection)
    if not pid:
        return Sender(note="the system does not tell which process it is")
    found = processes.session_of(pid)
    if found == session or session in processes.ancestors(pid):
        return OWN
    if found is None:
        return Sender(note=f"process {pid} is gone")
    program = for_line(processes.command_of(pid)) or "?"
    return Sender(True, f"process {pid} ({program}) does not belong to the agent's session")


class SenderNotes:
    """What `synapse why` says about senders: one sentence for those refused and one for those not told."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[bool, tuple[int, str, float]] = {}

    def add(self, sender: Sender) -> None:
        if sender.note:
            count = self._seen.get(sender.is_refused, (0, "", 0.0))[0]
            self._seen[sender.is_refused] = count + 1, sender.note, self._clock()

    def sentences(self) -> list[str]:
        made = []
        for is_refused, (count, note, at) in sorted(self._seen.items(), reverse=True):
            what = "refused" if is_refused else "accepted, though nothing proves that they are the agent's"
            age = self._clock() - at
            made.append(f"events were {what} (connections: {count}, the last {age:.0f} s ago): {note}")
        return made


def _peer(connection: socket.socket) -> int:
    """The process that connected; 0 if the system does not tell, or if it is in another namespace."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(told)[0]
    return pid
