"""Finds which user of this machine has opened a connection.

All users share loopback. The kernel knows the owner of the client's socket: a netlink query for that one
socket takes 30 µs. `/proc/net/tcp` lists all sockets and takes milliseconds, so it is read only without
netlink. Systems other than Linux have neither.
"""

import asyncio
import os
import socket
import struct
import sys

Address = tuple[str, int]

# The states of a client that has sent a request: ESTABLISHED, or half-closed (FIN_WAIT1 and 2). A socket in
# SYN_SENT belongs to the next user of the same port.
_STATES = (1, 4, 5)

NOBODY = -1  # a socket that its process has closed
ROOT = 0  # can reach the agent anyway

_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST = 1
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, pid
_ASK = struct.Struct("=BBBxI")  # family, protocol, extensions, states
_ANY = 0xFFFFFFFF
_ANSWER = struct.Struct("=BBBx4s16s16sIIIIIIII")  # family, state …, ports, …, uid, inode


class Peer:
    """The client of one connection. Each connection needs its own: other clients may get the same address."""

    def __init__(self, client: Address | None, server: Address | None) -> None:
        self._client = client
        self._server = server
        self._uid: int | None = None
        self._asked = self._asked_kernel = False

    async def uid(self) -> int | None:
        """The user of this machine who opened the connection, or None if that is not known."""
        if self.uid_at_once() is None and not self._asked:
            self._asked = True
            if self._is_local and sys.platform == "linux":
                self._uid = await asyncio.to_thread(search_tables, *self._ends)
        return self._uid

    def uid_at_once(self) -> int | None:
        """The same without waiting: None if only the tables of all sockets may tell."""
        if self._uid is None and self._is_local and not self._asked_kernel:
            self._asked_kernel = True
            self._uid = ask_kernel(*self._ends)
        return self._uid

    async def key(self) -> str:
        """A name for the user of this machine, or for the address of another machine."""
        uid = await self.uid()
        if uid is not None:
            return f"uid {uid}"
        return self._client[0] if self._client else ""

    @property
    def _is_local(self) -> bool:
        return self._client is not None and self._server is not None and is_loopback(self._client[0])

    @property
    def _ends(self) -> tuple[Address, Address]:
        assert self._client is not None and self._server is not None
        return self._client, self._server


def is_own(uid: int | None) -> bool:
    """Whether this user may do all that the agent may."""
    return uid in (os.getuid(), ROOT)


def is_loopback(ip: str) -> bool:
    return ip == "::1" or ip.removeprefix("::ffff:").startswith("127.")


def ask_kernel(client: Address, server: Address) -> int | None:
    """The owner of the client's socket, by netlink, which also finds IPv4 through an IPv6 socket."""
    try:
        family, ours, theirs = _packed(client[0], server[0])
        ports = struct.pack("!HH", client[1], server[1])
        ask = _ASK.pack(family, socket.IPPROTO_TCP, 0, _ANY) + ports + ours.ljust(16, b"\0")
        ask += theirs.ljust(16, b"\0") + struct.pack("=III", 0, _ANY, _ANY)
        header = _HEADER.pack(_HEADER.size + len(ask), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as sock:  # type: ignore[attr-defined,unused-ignore]
            sock.setblocking(False)  # the kernel answers during `send`
            sock.send(header + ask)
            answer = sock.recv(4096)
    except (OSError, AttributeError):
        return None
    if len(answer) < _HEADER.size + _ANSWER.size or _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    _, state, _, found, *_, uid, inode = _ANSWER.unpack_from(answer, _HEADER.size)
    # Without such a connection the kernel may return a listener on the client's port.
    return _owner(state, uid, inode) if found == ports else None


def search_tables(client: Address, server: Address) -> int | None:
    """The same from /proc/net/tcp and tcp6. The tables change while they are read, so they are read twice."""
    family, ours, theirs = _packed(client[0], server[0])
    ends = [(_hex(ours), _hex(theirs))]
    if family == socket.AF_INET:  # but the client's socket may be IPv6
        prefix = _hex(b"\0" * 10 + b"\xff\xff")
        ends.append((prefix + ends[0][0], prefix + ends[0][1]))
    for _ in range(2):
        for local, remote in ends:
            needle = f" {local}:{client[1]:04X} {remote}:{server[1]:04X} ".encode()
            try:
                with open("/proc/net/tcp" if len(local) == 8 else "/proc/net/tcp6", "rb") as file:
                    _, found, rest = file.read().partition(needle)
            except OSError:
                continue
            if found:
                words = rest.split(b"\n", 1)[0].split()
                return _owner(int(words[0], 16), int(words[4]), int(words[6]))
    return None


def _owner(state: int, uid: int, inode: int) -> int:
    # A closed socket has no inode, and the kernel gives 0 for its owner, which is root.
    return uid if inode and state in _STATES else NOBODY


def _packed(client: str, server: str) -> tuple[int, bytes, bytes]:
    client, server = client.removeprefix("::ffff:"), server.removeprefix("::ffff:")
    family = socket.AF_INET6 if ":" in client else socket.AF_INET
    return family, socket.inet_pton(family, client), socket.inet_pton(family, server)


def _hex(address: bytes) -> str:
    return "".join(f"{word:08X}" for word in struct.unpack(f"={len(address) // 4}I", address))
