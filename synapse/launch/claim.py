"""Claims what an agent needs on this machine: its id, name, port, sockets and registry entry.

The relay starts through this module: `socket` alone costs 4 ms, hence `_socket`.
"""

from __future__ import annotations

import _socket
import errno
import os
import time

from synapse.base import paths
from synapse.config import Settings
from synapse.errors import SynapseError, UsageError
from synapse.launch.addresses import Address
from synapse.profiles.loader import Profile
from synapse.registry import AgentRegistry, Entry, current_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_COMMON_PORT = 8200  # for a profile without a range, and for every range that is full
LAST_PORT = 65535
ENDING = 7.0  # seconds; an agent that ends takes 5 at most


class Claim:
    """The name, the port and the sockets that belong to one agent until `release`."""

    def __init__(
        self,
        registry: AgentRegistry,
        entry: Entry,
        others: list[Entry],
        sockets: list[_socket.socket],
        requests: int,
    ) -> None:
        self.registry = registry
        self.entry = entry
        self.others = others
        self.agent_id = str(entry["agent_id"])
        self.name = str(entry["name"])
        self.tcp, self.control, self.events, self.attach = sockets
        self.requests = requests  # the FIFO, open for reading and writing: it never has an end

    def descriptors(self) -> list[int]:
        """Of the lock, the sockets and the FIFO: what keeps the claim."""
        sockets = (self.tcp, self.control, self.events, self.attach)
        return [*self.registry.lock_descriptors(), *(sock.fileno() for sock in sockets), self.requests]

    def keep(self) -> None:
        """Somebody may have removed the lock file: take it again."""
        try:
            self.registry.keep_lock(self.agent_id)
        except (OSError, SynapseError):
            pass  # another try in a few seconds

    def withdraw(self) -> None:
        """The agent is not listed any more; id and port are still its own."""
        self.registry.withdraw(self.agent_id)

    def release(self) -> None:
        with self.registry.mutex():
            paths.remove_sockets(self.agent_id)
            self.registry.unregister(self.agent_id)


def claim(
    profile: Profile, settings: Settings, name: str | None, port: int | None, address: Address
) -> Claim:
    registry = AgentRegistry()
    working_dir = current_dir()
    _wait_for_ending(registry, profile.name, working_dir)
    with registry.mutex():
        live = registry.list_agents_unlocked()
        agent_id, chosen = registry.choose(profile.name, working_dir, name, live)
        if _is_served(agent_id):  # else two agents would share its files
            raise SynapseError(
                f"{chosen} is running, but its file in {registry.registry_dir} was removed: "
                "it writes it again within 10 seconds."
            )
        taken = {entry["port"] for entry in live.values()}  # also on another address, where it would be free
        ports = (n for n in _candidate_ports(profile, settings, chosen, port) if n == port or n not in taken)
        tcp = _bind_tcp(ports, port, address)
        number = tcp.getsockname()[1]
        sockets, requests = [tcp], -1
        try:
            for path in (paths.control_socket, paths.events_socket, paths.attach_socket):
                sockets.append(_bind_unix(path(agent_id)))
            requests = _make_fifo(agent_id)
            entry = registry.register(
                agent_id,
                profile.name,
                number,
                name=chosen,
                working_dir=working_dir,
                endpoint=address.endpoint(number),
                socket=sockets[1].getsockname(),
            )
        except (OSError, SynapseError) as error:
            _undo(agent_id, sockets, requests)
            if isinstance(error, SynapseError):
                raise
            raise SynapseError(
                f"cannot create {error.filename} ({error.strerror}): see `synapse doctor`."
            ) from error
    return Claim(registry, entry, list(live.values()), sockets, requests)


def _undo(agent_id: str, sockets: list[_socket.socket], requests: int) -> None:
    for sock in sockets:
        sock.close()
    if requests >= 0:
        os.close(requests)
    try:
        paths.remove_sockets(agent_id)
    except OSError:
        pass  # their directory cannot be used


def _wait_for_ending(registry: AgentRegistry, agent_type: str, working_dir: str) -> None:
    """An agent that ends in this directory still has the id and the port that this one is to get. After
    ENDING seconds the next id is taken."""
    deadline = time.monotonic() + ENDING
    while time.monotonic() < deadline:
        live = registry.list_agents()
        if not registry.is_ending(agent_type, working_dir, live):
            return
        time.sleep(0.02)


def _candidate_ports(profile: Profile, settings: Settings, name: str, port: int | None) -> Iterable[int]:
    if port is not None:
        yield port
        return
    for key in (name, profile.name):
        configured = settings.agents.get(key)
        if configured is not None and configured.port is not None:
            yield configured.port
    if profile.ports is not None:
        yield from range(profile.ports[0], profile.ports[1] + 1)
    yield from range(FIRST_COMMON_PORT, LAST_PORT + 1)


def _bind_tcp(candidates: Iterable[int], wanted: int | None, address: Address) -> _socket.socket:
    for port in candidates:
        sock = _socket.socket(address.family, _socket.SOCK_STREAM)
        sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        try:
            sock.bind(address.bindable(port))
            sock.listen(128)  # with SO_REUSEADDR two sockets can bind one port, but only one can listen
            return sock
        except OSError as error:
            sock.close()
            if error.errno == errno.EADDRNOTAVAIL:
                raise UsageError(
                    f"--host {address.name} is not an address of this machine: use 127.0.0.1, ::1 or 0.0.0.0."
                ) from error
            if wanted is not None:
                reason = "is in use by another program" if error.errno == errno.EADDRINUSE else error.strerror
                raise UsageError(
                    f"port {port} cannot be used ({reason}): choose another --port, or leave it out."
                ) from error
    raise SynapseError(
        f"no port is free from {FIRST_COMMON_PORT} on: stop an agent, or choose a port with --port."
    )


def _is_served(agent_id: str) -> bool:
    """Whether a process listens on its socket, though nobody has its lock."""
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(paths.control_socket(agent_id))
    except BlockingIOError:
        return True  # it does not accept at the moment
    except OSError:
        return False
    finally:
        sock.close()
    return True


def _bind_unix(path: str) -> _socket.socket:
    try:
        os.unlink(path)  # left by an agent that has died: its lock was free
    except FileNotFoundError:
        pass
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.bind(path)
    except OSError as error:
        error.filename = path
        raise
    os.chmod(path, 0o600)
    sock.listen(128)
    return sock


def _make_fifo(agent_id: str) -> int:
    """The FIFO for the agent's own commands, which its sandbox may not let connect, and its replies."""
    path, replies = paths.request_fifo(agent_id), paths.private_dir(paths.replies_dir(agent_id))
    for name in os.listdir(replies):  # left by an agent that has died
        os.unlink(os.path.join(replies, name))
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    os.mkfifo(path, 0o600)
    os.chmod(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
