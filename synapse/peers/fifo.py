"""Requests from a sandbox that refuses connect(): through the FIFO of the agent that the command runs in.

The agent's host reads the FIFO, makes the request, and writes the response into a file, which is read here as
it grows. A chunk has PIPE_BUF bytes, so the kernel writes it as a whole or not at all: any number of
processes can write at once, and one that is killed leaves no half of a chunk.
"""

from __future__ import annotations

import _socket
import binascii
import errno
import fcntl
import os
import select
import stat
import struct
import time

from synapse.base import jsontext
from synapse.base.record import Record
from synapse.errors import SynapseError
from synapse.peers.origin import Origin
from synapse.registry import AgentRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FIFO, REPLIES, FAILED = ".requests", ".replies", ".failed"  # how the names end
LARGEST = 16 * 1024 * 1024  # bytes of a request
UNREACHABLE = "x-synapse-unreachable"  # a header of the host's own response: nothing was sent
AGAIN = 3.0  # seconds without a reply until the request is written again: a host may have died with it
# Seconds without a reply. A host that hangs is replaced after 20; after 30 the callers blame the other agent.
NO_REPLY = 26.0
NO_PLACE = 2.0  # seconds without a reply until it is looked whether one could be written
FULL = 10.0  # seconds in which nobody reads the FIFO
PIECE = 1 << 16
PAUSE, LONGEST_PAUSE = 0.001, 0.05  # seconds between two looks at the reply
KEPT_PENDING = 4 * LARGEST  # bytes of requests that have not arrived completely
CHUNK = select.PIPE_BUF
_MAGIC = b"\0SYNAPSE"
_HEADER = struct.Struct(">8s16sIIHI")  # magic, id, number of the chunk, chunks, bytes in this one, checksum
_ROOM = CHUNK - _HEADER.size


def pack(request_id: bytes, data: bytes) -> list[bytes]:
    """The chunks of a request; `request_id` has 16 bytes. All chunks have the same size, so that one that is
    damaged cannot hold up the next."""
    pieces = [data[at : at + _ROOM] for at in range(0, len(data), _ROOM)]
    return [_chunk(request_id, number, len(pieces), piece) for number, piece in enumerate(pieces)]


def _chunk(request_id: bytes, number: int, count: int, piece: bytes) -> bytes:
    padded = piece.ljust(_ROOM, b"\0")
    fields = (_MAGIC, request_id, number, count, len(piece))
    checksum = binascii.crc32(_HEADER.pack(*fields, 0) + padded)
    return _HEADER.pack(*fields, checksum) + padded


class Unpacker:
    """Bytes of the FIFO to requests. What is no chunk is skipped."""

    def __init__(self) -> None:
        self._bytes = b""
        self._pending: dict[bytes, dict[int, bytes]] = {}
        self._size = 0  # of what is pending

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """The requests that are complete now, each with its id."""
        found: list[tuple[str, bytes]] = []
        self._bytes += data
        while True:
            start = self._bytes.find(_MAGIC)
            if start < 0:
                self._bytes = self._bytes[-len(_MAGIC) + 1 :]  # it may be the beginning of one
                return found
            self._bytes = self._bytes[start:]
            if len(self._bytes) < CHUNK:
                return found
            request = self._take(self._bytes[:CHUNK])
            self._bytes = self._bytes[1 if request is None else CHUNK :]
            if request:
                found.append(request)

    def _take(self, chunk: bytes) -> tuple[str, bytes] | tuple[()] | None:
        """A request that is complete; nothing if more of it is to come; None if this is no chunk."""
        magic, request_id, number, count, length, checksum = _HEADER.unpack_from(chunk)
        whole = _HEADER.pack(magic, request_id, number, count, length, 0) + chunk[_HEADER.size :]
        if binascii.crc32(whole) != checksum or not number < count <= LARGEST // _ROOM + 1:
            return None
        piece = chunk[_HEADER.size : _HEADER.size + length]
        pieces = self._pending.setdefault(request_id, {})
        self._size += len(piece) - len(pieces.get(number, b""))
        pieces[number] = piece
        if len(pieces) < count:
            while self._size > KEPT_PENDING:
                self._forget(next(iter(self._pending)))
            return ()
        self._forget(request_id)
        return request_id.hex(), b"".join(pieces[n] for n in sorted(pieces))

    def _forget(self, request_id: bytes) -> None:
        self._size -= sum(map(len, self._pending.pop(request_id).values()))


def is_forbidden() -> bool:
    """Whether a sandbox refuses every connection. An event loop cannot be woken by a thread there: that takes
    a send() to a socket."""
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.connect("/nonexistent/synapse")
    except OSError as error:
        return isinstance(error, PermissionError)
    finally:
        sock.close()
    return False


class NoReply(SynapseError):
    """The request may have arrived, and its reply cannot."""


class Way(Record):
    """The FIFO of the agent that this command runs in, and the directory of its replies."""

    agent: str  # its name
    fifo: str
    replies: str

    def __init__(self, agent: str, fifo: str) -> None:
        super().__init__(agent=agent, fifo=fifo, replies=fifo.removesuffix(FIFO) + REPLIES)


def find_way() -> Way:
    """For a command that may not connect. Raises SynapseError if there is no other way."""
    origin = Origin.of_this_process()
    if origin is None:
        raise SynapseError(
            "this sandbox refuses every connection, and the command does not run in an agent of Synapse: "
            "run it outside the sandbox."
        )
    fifo = os.environ.get("SYNAPSE_REQUESTS", "")
    if not fifo or os.environ.get("SYNAPSE_AGENT_ID") != origin.id:  # a server that agents share
        entry = AgentRegistry().list_agents().get(origin.id, {})
        fifo = os.path.splitext(str(entry.get("socket") or ""))[0] + FIFO
    return Way(origin.name, fifo)


class Request:
    """One request, and its response as it grows. It never blocks: `step` is called again after `pause`."""

    def __init__(
        self,
        way: Way,
        agent_id: str,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        told: dict[str, Any] = {"agent": agent_id, "method": method, "path": path, "body": body}
        data = jsontext.dumps({**told, "headers": dict(headers or {})}).encode("utf-8", "replace")
        if len(data) > LARGEST:
            raise SynapseError(
                f"the message is larger than the {LARGEST >> 20} MB that a sandboxed agent can send: "
                "put it into a file, and name the file in the message."
            )
        self._way = way
        request_id = os.urandom(16)
        self._chunks = pack(request_id, data)
        self._left = list(self._chunks)
        self._path = os.path.join(way.replies, request_id.hex())
        self._fifo = _open_fifo(way)
        self._file = -1
        self._began = self._moved = time.monotonic()
        self._repeated = self._complete = False
        self.pause = PAUSE

    def step(self) -> bytes | None:
        """The next bytes of the response; None if there are none yet; b"" at its end."""
        if self._left:
            self._write()
        if not self._left and self._file < 0:
            self._open()
        data = os.read(self._file, PIECE) if self._file >= 0 else b""
        if data:
            self.pause = PAUSE
            return data
        if self._complete:
            if os.path.exists(self._path + FAILED):
                raise self._unwritten()
            return b""
        if self._file >= 0 and _is_free(self._file):
            self._complete = True  # the host has written all, or is dead: what it wrote last is read now
            self.pause = 0.0
        else:
            self.pause = min(self.pause * 1.5 + PAUSE, LONGEST_PAUSE)
        return None

    def close(self) -> None:
        for fd in (self._fifo, self._file):
            if fd >= 0:
                os.close(fd)
        if self._complete and not self._repeated:  # else it tells the host that it has done this already
            try:
                os.unlink(self._path)
            except OSError:
                pass  # not allowed here: the host removes it after a while
        self._fifo = self._file = -1

    def _write(self) -> None:
        try:
            while self._left:
                os.write(self._fifo, self._left[0])
                del self._left[0]
                self._moved = time.monotonic()
        except BlockingIOError:
            if time.monotonic() - self._moved > FULL:
                raise SynapseError(
                    f"nobody reads the requests of {self._way.agent} ({self._way.fifo} is full): "
                    f"nothing was sent; see `synapse logs {self._way.agent}`."
                ) from None
        except OSError as error:  # EPIPE: the agent has just ended
            raise _refused(self._way, error) from error

    def _open(self) -> None:
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _refused(self._way, error) from error
        if os.path.exists(self._path + FAILED):
            raise self._unwritten()
        waited = time.monotonic() - self._began
        if waited > NO_PLACE and (why := _why_no_file(self._way.replies)):
            raise self._unwritten(why)
        if waited > NO_REPLY:
            raise self.unanswered(NO_REPLY)
        if time.monotonic() - self._moved > AGAIN:
            self._repeated = True
            self._moved = time.monotonic()
            self._left = list(self._chunks)
            os.close(self._fifo)
            self._fifo = -1
            self._fifo = _open_fifo(self._way)

    @property
    def is_answered(self) -> bool:
        """Whether a reply has begun."""
        return self._file >= 0

    def unanswered(self, seconds: float) -> NoReply:
        return NoReply(
            f"the host of {self._way.agent} has not replied within {seconds:g} s: `synapse tasks` shows "
            f"whether the message arrived, `synapse logs {self._way.agent}` what is wrong."
        )

    def _unwritten(self, why: str = "the disk is full") -> NoReply:
        return NoReply(
            f"the reply cannot be written under {self._way.replies} ({why}): make room on that disk; "
            "`synapse tasks` shows whether the message arrived."
        )


def _open_fifo(way: Way) -> int:
    try:
        fd = os.open(way.fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "it is no FIFO")
        return fd
    except OSError as error:
        raise _refused(way, error) from error


def _refused(way: Way, error: OSError) -> SynapseError:
    if error.errno in (errno.ENXIO, errno.EPIPE):
        return SynapseError(f"{way.agent}, which this command runs in, has ended: nothing was sent.")
    return SynapseError(
        f"this sandbox refuses every connection, and {way.fifo or 'the FIFO'} cannot be used "
        f"({error.strerror}): run the command outside the sandbox, or give the agent `synapse mcp`; "
        "if the file is gone, restart the agent."
    )


def _why_no_file(folder: str) -> str:
    """Why no file can be created in this directory; empty if one can, as far as the file system tells. Some
    file systems have no limits, and say 0 for all of them."""
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        return error.strerror or str(error)
    if disk.f_files and not disk.f_favail:
        return "no more files can be created on the disk"
    return "the disk is full" if disk.f_blocks and not disk.f_bavail else ""


def _is_free(fd: int) -> bool:
    """The host holds a lock on a reply while it writes it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
