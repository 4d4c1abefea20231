"""All agents of this user as they are now: status, what they work on, what they ask, their tasks.

`Agents` follows the registry and the machines that are known, and has one connection to each agent, its
WebSocket on the private Unix socket.
Whoever shows agents (`synapse view`, `synapse top`) reads `Agents.known` and is told of every change.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import WebSocketException

from synapse.base.states import END_STATES
from synapse.errors import Refused, SynapseError, TargetError
from synapse.peers.local import LocalPeer
from synapse.peers.remote import is_reachable, key_of, peer_of, reach, remote_entries
from synapse.registry import INPUT_REQUIRED, READY, AgentRegistry, Entry

logger = logging.getLogger(__name__)

SCAN = 0.25  # seconds between two looks at the registry's directory
SCAN_ALL = 2.0  # seconds between two looks at every entry: nothing tells that an agent was killed
CONNECTING = 10.0  # seconds
PAUSE, LONGEST_PAUSE = 0.1, 2.0  # seconds before the next attempt
REQUEST = 30.0  # seconds for the response to a request
MOST_TASKS = 100  # that are kept of one agent
TOPICS = ["status", "task", "artifact", "receipt", "question"]
URI = "ws://localhost/ws"

NEEDS_YOU, WORKING, IDLE = "needs_you", "working", "idle"

Json = dict[str, Any]
Changed = Callable[[str, "Agent", Json], None]  # a kind, the agent, and a frame or nothing
CONNECTION_ENDED = (OSError, WebSocketException, TimeoutError, EOFError)


class Agent:
    """One agent: what it said last, and the requests that wait for its response."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.status = str(entry["status"])
        self.since = str(entry.get("started_at", ""))
        self.work: Json | None = None
        self.menu: str | None = None  # the title of a menu that its human has opened
        self.question: Json | None = None
        self.tasks: dict[str, Json] = {}  # by id, with `artifacts` and `receipts`
        self.connected = False
        self.failed = False  # the last attempt to connect
        self.number: int | None = None  # of the last event
        self.following: asyncio.Task[None] | None = None
        self._socket: ClientConnection | None = None
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._is_open = asyncio.Event()
        self._last_id = 0

    @property
    def id(self) -> str:
        return key_of(self.entry)

    async def socket_path(self) -> str:
        """Where it answers. Raises SynapseError while its machine does not."""
        if self.entry.get("stale"):  # to reach it would take a thread for seconds
            raise TargetError(f"the machine of {self.name} does not answer at the moment: try again.")
        return str((await asyncio.to_thread(reach, self.entry))["socket"])

    async def ask(self, method: str, path: str, body: object = None) -> Json:
        """A request to its private socket."""
        entry = await asyncio.to_thread(reach, self.entry)
        return await LocalPeer(AgentRegistry(), entry).ask(method, path, body)

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def group(self) -> str:
        if self.menu is not None and not self.waiting:
            return IDLE  # whoever opened the menu is at it
        if self.question is not None or self.status == INPUT_REQUIRED:
            return NEEDS_YOU
        return IDLE if self.status == READY else WORKING

    @property
    def waiting(self) -> int:
        """How many tasks wait until the agent is free."""
        return sum(task["state"] == "submitted" for task in self.tasks.values())

    def to_dict(self) -> Json:
        entry = self.entry
        return {
            "id": self.id,
            "name": self.name,
            "type": entry["agent_type"],
            "directory": entry["working_dir"],
            "port": entry["port"],
            "pid": entry["pid"],
            "started_at": entry.get("started_at"),
            "status": self.status,
            "since": self.since,
            "group": self.group,
            "work": self.work,
            "question": self.question,
            "menu": self.menu,
            "waiting": self.waiting,
            "connected": self.connected or not is_reachable(self.entry),
            "connecting": not self.failed,
        }

    async def request(self, **wanted: Any) -> Json:
        """Send a request over the WebSocket: `send`, `answer` and so on. SynapseError if it is refused."""
        if not is_reachable(self.entry):
            return await self._send_message(wanted)
        try:
            async with asyncio.timeout(CONNECTING):
                await self._is_open.wait()  # it may just have started, or its host is being replaced
        except TimeoutError:
            raise TargetError(f"{self.name} cannot be reached at the moment: try again.") from None
        assert self._socket is not None
        self._last_id += 1
        number, future = self._last_id, asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._socket.send(json.dumps({"id": number, **wanted}))
            async with asyncio.timeout(REQUEST):
                response: Json = await future
        except CONNECTION_ENDED:
            raise SynapseError(f"{self.name} left before it answered: look whether it was done.") from None
        finally:
            del self._waiting[number]
        if response["type"] == "error":
            raise Refused(str(response["detail"]), str(response["code"]))
        return response

    async def _send_message(self, wanted: Json) -> Json:
        """A request to an agent that only messages reach."""
        said = wanted.get("send")
        text = said.get("message") if isinstance(said, dict) else said
        if not isinstance(text, str):
            raise TargetError(f"only messages reach {self.name}: send it one, or use its own machine.")
        task = await peer_of(self.entry).send(text)
        return {"type": "ok", "task": {"id": task.id, "state": task.status}}

    def opened(self, socket: ClientConnection) -> None:
        self._socket, self.connected, self.failed = socket, True, False
        self._is_open.set()

    def closed(self) -> None:
        self._socket, self.connected = None, False
        self._is_open.clear()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionResetError())

    def take(self, frame: Json) -> None:
        kind = frame["type"]
        if kind in ("ok", "error"):
            future = self._waiting.get(frame["id"])
            if future is not None and not future.done():
                future.set_result(frame)
        elif kind == "status":
            self.status, self.since, self.work = frame["status"], frame["since"], frame["work"]
            self.menu = frame.get("menu")  # the host of an older version tells none
        elif kind == "question":
            asked = frame["question"]
            self.question = asked and asked | {"agent": self.name}  # on its machine it has a shorter name
        elif kind == "lagged":
            self.tasks.clear()
        elif kind == "task":
            self._take_task(frame["task"])
        elif (task := self.tasks.get(frame.get("task", ""))) is not None:
            _take_piece(task, frame)
        self.number = frame.get("n", self.number)

    def _take_task(self, document: Json) -> None:
        known = self.tasks.get(document["id"], {"artifacts": {}, "receipts": []})
        self.tasks[document["id"]] = {**document, **{key: known[key] for key in ("artifacts", "receipts")}}
        ended = [id_ for id_, task in self.tasks.items() if task["state"] in END_STATES]
        for id_ in ended[: max(len(self.tasks) - MOST_TASKS, 0)]:
            del self.tasks[id_]


def _take_piece(task: Json, frame: Json) -> None:
    """A receipt, or a part of the reply."""
    if frame["type"] == "receipt":
        if frame["receipt"] not in task["receipts"]:
            task["receipts"].append(frame["receipt"])
        return
    artifact = frame["artifact"]
    before = task["artifacts"].get(artifact["id"])
    if frame["append"] and before is not None and "data" in before and "data" in artifact:
        artifact = {**artifact, "data": before["data"] + artifact["data"]}
    task["artifacts"][artifact["id"]] = artifact


class Agents:
    """`changed` is called with `agent`, `gone` or the type of a frame, the agent, and the frame."""

    def __init__(self, changed: Changed, registry: AgentRegistry | None = None) -> None:
        self.known: dict[str, Agent] = {}
        self._changed = changed
        self._registry = registry or AgentRegistry()
        self._look_now = asyncio.Event()
        self._following: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Follow the registry until this is cancelled."""
        loop = asyncio.get_running_loop()
        seen, looked = -1.0, -SCAN_ALL
        try:
            while True:
                now, stamp = loop.time(), _modified(self._registry.registry_dir)
                if stamp != seen or now - looked >= SCAN_ALL or self._look_now.is_set():
                    self._look_now.clear()
                    self._compare(await self._everybody())
                    seen, looked = stamp, now
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SCAN):
                        await self._look_now.wait()
        finally:
            for task in self._following:
                task.cancel()
            await asyncio.gather(*self._following, return_exceptions=True)

    async def _everybody(self) -> dict[str, Entry]:
        """Of this machine and of others; those of a machine that does not answer are known, not connected."""
        there = await asyncio.to_thread(remote_entries, 0.0)
        return {key_of(entry): entry for entry in [*self._registry.list_agents().values(), *there]}

    def look(self) -> None:
        """Look at the registry now."""
        self._look_now.set()

    def find(self, agent_id: str) -> Agent:
        if agent_id not in self.known:
            raise TargetError("this agent has ended: start another.")
        return self.known[agent_id]

    def _compare(self, live: dict[str, Entry]) -> None:
        for agent_id in [known for known in self.known if known not in live]:
            self._forget(self.known[agent_id])
        for agent_id, entry in live.items():
            known = self.known.get(agent_id)
            if known is not None and _start_of(known.entry) != _start_of(entry):
                self._forget(known)  # another run of the same agent
                known = None
            if known is None:
                self._add(Agent(entry))
                continue
            known.entry = entry  # a machine may have stopped answering
            if not known.connected and known.status != entry["status"]:
                known.status = str(entry["status"])
                self._changed("agent", known, {})

    def _add(self, agent: Agent) -> None:
        self.known[agent.id] = agent
        if not is_reachable(agent.entry):
            self._changed("agent", agent, {})
            return
        agent.following = asyncio.create_task(self._follow(agent))
        self._following.add(agent.following)
        agent.following.add_done_callback(self._following.discard)
        self._changed("agent", agent, {})

    def _forget(self, agent: Agent) -> None:
        del self.known[agent.id]
        if agent.following is not None:
            agent.following.cancel()
        self._changed("gone", agent, {})

    async def _follow(self, agent: Agent) -> None:
        """Stay connected. A host that is replaced keeps its socket, so the next one answers there."""
        pause = PAUSE
        while True:
            try:
                path = await agent.socket_path()
                async with unix_connect(
                    path, URI, max_size=None, open_timeout=CONNECTING, compression=None
                ) as socket:
                    after = {} if agent.number is None else {"after": agent.number}
                    await socket.send(json.dumps({"id": 0, "subscribe": TOPICS, **after}))
                    agent.opened(socket)
                    self._changed("agent", agent, {})
                    pause = PAUSE
                    async for text in socket:
                        self._take(agent, json.loads(text))
            except (*CONNECTION_ENDED, SynapseError) as error:
                logger.debug("%s: %r", agent.name, error)
            finally:
                before = agent.connected, agent.failed
                if agent.connected:
                    agent.closed()
                else:
                    agent.failed = True
                if agent.id in self.known and (agent.connected, agent.failed) != before:
                    self._changed("agent", agent, {})
            self.look()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _take(self, agent: Agent, frame: Json) -> None:
        agent.take(frame)
        kind = frame["type"]
        if kind in ("status", "question"):
            self._changed("agent", agent, {})
        elif kind in ("task", "artifact", "receipt", "lagged"):
            self._changed(kind, agent, frame)


def _start_of(entry: Entry) -> tuple[object, ...]:
    return entry["pid"], entry.get("started_at"), entry.get("name")


def _modified(folder: str) -> float:
    try:
        return os.stat(folder).st_mtime
    except OSError:
        return 0.0
