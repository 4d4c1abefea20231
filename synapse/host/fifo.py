"""What the agent's own commands ask through the FIFO, because its sandbox refuses their connections.

The host makes the request for them, signed as this agent, and writes the response into a file as it comes. It
holds a lock on that file meanwhile: a reader that gets the lock knows that nobody writes any more.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import re
import time
from typing import Any

from synapse.errors import SynapseError
from synapse.peers.fifo import FAILED, PIECE, UNREACHABLE, Unpacker
from synapse.peers.local_http import LARGEST, Place, requested
from synapse.peers.origin import Origin
from synapse.peers.remote import reach, sender_there
from synapse.peers.task import Json
from synapse.registry import AgentRegistry, Entry

logger = logging.getLogger(__name__)

KEPT = 60.0  # seconds that a reply is kept: its reader may not be allowed to remove it
AT_ONCE = 1000  # requests in work; most of them wait for a task
CONNECTING = 32  # connections that are opened at the same time: an agent's backlog is 128
_TASK = r"/tasks/[\w%.-]+"
ALLOWED = {
    "GET": re.compile(rf"/tasks(\?[\w=&.-]*)?|{_TASK}(/subscribe)?|/questions|/status"),
    "POST": re.compile(rf"/tasks/send(-priority\?priority=\d)?|{_TASK}/(input|cancel)|/questions/[\w%.-]+"),
}
_HEADERS = ("Last-Event-ID",)


class _Unwritten(Exception):
    """The reply cannot be written."""


class FifoListener:
    """`me` is the agent whose FIFO it is: whatever comes through it was sent by that agent."""

    def __init__(self, fd: int, replies: str, me: Origin, registry: AgentRegistry) -> None:
        self._fd = fd
        self._replies = replies
        self._me = me
        self._registry = registry
        self._unpacker = Unpacker()
        self._serving: set[asyncio.Task[None]] = set()
        self._connecting = asyncio.Semaphore(CONNECTING)
        self._sweeping: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        self._sweep()

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        if self._sweeping is not None:
            self._sweeping.cancel()
        for serving in self._serving:
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, PIECE)
        except BlockingIOError:
            return
        if not data:  # nobody has it open for writing: the relay is gone
            asyncio.get_running_loop().remove_reader(self._fd)
        for request_id, payload in self._unpacker.feed(data):
            serving = asyncio.ensure_future(self._serve(request_id, payload))
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)

    async def _serve(self, request_id: str, payload: bytes) -> None:
        path = os.path.join(self._replies, request_id)
        if os.path.exists(path) or os.path.exists(path + FAILED):
            return  # written twice, since the first was answered late or by a host that has died
        try:
            reply = self._made(path)
        except OSError as error:  # its reader looks for the reason itself
            logger.error("a reply for a command of this agent cannot be written: %s", error)
            return
        try:
            await self._answer(reply, payload)
        except _Unwritten as error:
            logger.error("a reply for a command of this agent cannot be written: %s", error)
            reply.fail()
        except Exception:
            logger.exception("a request of a command of this agent failed")
        finally:
            reply.close()
            self._sweep_later()

    def _made(self, path: str) -> _Reply:
        try:
            return _Reply(path)
        except FileNotFoundError:  # somebody cleaned up
            os.mkdir(self._replies, 0o700)
            return _Reply(path)

    async def _answer(self, reply: _Reply, payload: bytes) -> None:
        if len(self._serving) > AT_ONCE:
            reply.refuse(503, "BUSY", "too many commands of this agent wait: try again later")
            return
        try:
            request = _Request(json.loads(payload))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reply.refuse(400, "INVALID_REQUEST", f"the request makes no sense ({error})")
            return
        if not ALLOWED.get(request.method, _NOTHING).fullmatch(request.path):
            reply.refuse(
                403, "NOT_FROM_A_SANDBOX", "this cannot be done from a sandbox: run the command outside of it"
            )
            return
        try:
            entry = await self._entry(request.agent)
        except SynapseError as error:
            reply.refuse(503, "UNREACHABLE", str(error))
            return
        if entry is None:
            reply.unreachable()
            return
        place = Place(str(entry.get("socket") or ""), int(str(entry["port"])), str(entry["agent_id"]))
        await self._pass_on(reply, place, request, sender_there(self._me, entry))

    async def _entry(self, agent: str) -> Entry | None:
        """An agent by its id, or by its id and its machine."""
        agent_id, _, machine = agent.partition("@")
        if not machine:
            return self._registry.list_agents().get(agent_id)
        return await asyncio.to_thread(reach, {"agent_id": agent_id, "name": agent, "machine": machine})

    async def _pass_on(self, reply: _Reply, place: Place, request: _Request, sender: Json) -> None:
        asked = requested(place, request.method, request.path, request.signed(sender), request.headers)
        try:
            async with self._connecting:
                reader = await asked.__aenter__()
        except OSError:
            reply.unreachable()
            return
        try:
            size = 0
            while (piece := await reader.read(PIECE)) and (size := size + len(piece)) <= LARGEST:
                reply.write(piece)
        except OSError as error:
            logger.info("a response broke off: %s", error)  # its reader sees that it is not complete
        finally:
            await asked.__aexit__(None, None, None)

    def _sweep_later(self) -> None:
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(KEPT, self._sweep)

    def _sweep(self) -> None:
        """Remove replies that are old. While there are none, no timer runs."""
        self._sweeping = None
        try:
            names = os.listdir(self._replies)
        except OSError:
            return
        for name in names:
            path = os.path.join(self._replies, name)
            try:
                if time.time() - os.stat(path).st_mtime >= KEPT and not _is_written(path):
                    os.unlink(path)
            except OSError:
                pass  # its reader was quicker
        if names:
            self._sweep_later()


_NOTHING = re.compile(r"(?!)")


class _Request:
    def __init__(self, told: Any) -> None:
        self.agent = str(told["agent"])
        self.method = str(told["method"])
        self.path = str(told["path"])
        headers = told.get("headers") or {}
        given = {name: str(headers[name]) for name in _HEADERS if name in headers}
        self.headers = {name: value for name, value in given.items() if value.isascii() and value.isalnum()}
        self._body = told.get("body")

    def signed(self, sender: Json) -> object:
        """The body, in the name of the agent whose FIFO it came through, whatever it says itself."""
        if self.method == "GET":
            return None
        return {**self._body, "sender": sender} if isinstance(self._body, dict) else {"sender": sender}


class _Reply:
    """The file of one reply. It appears under its name only when it is locked."""

    def __init__(self, path: str) -> None:
        self._path = path
        hidden = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}")
        self._fd = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(hidden, path)
        except OSError:
            os.close(self._fd)
            raise

    def write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            raise _Unwritten(str(error)) from error

    def refuse(self, status: int, code: str, detail: str, header: str = "") -> None:
        body = json.dumps({"detail": detail, "code": code}).encode()
        head = f"HTTP/1.1 {status} -\r\ncontent-length: {len(body)}\r\n{header}\r\n"
        self.write(head.encode() + body)

    def unreachable(self) -> None:
        self.refuse(502, "UNREACHABLE", "nothing listens there", f"{UNREACHABLE}: yes\r\n")

    def fail(self) -> None:
        """A new name says that this reply is not complete: it needs no room on the disk."""
        try:
            os.rename(self._path, self._path + FAILED)
        except OSError as error:
            logger.error("%s", error)

    def close(self) -> None:
        os.close(self._fd)


def _is_written(path: str) -> bool:
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
