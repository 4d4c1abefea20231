"""Agents on this machine: a message arrives once, even if it has to be sent several times.

A server that has only the specifications' endpoints (`/tasks/send`, `GET /tasks/{id}`) is polled.
"""

import asyncio
import json
import uuid
from contextlib import aclosing, suppress
from typing import Unpack
from urllib.parse import quote, urlsplit

from synapse.errors import Refused, SynapseError, TargetError, WaitTimeout
from synapse.peers.base import Commands, Listed, Peer, Source, Waiting
from synapse.peers.fifo import NoReply
from synapse.peers.local_http import Broken, Place, Response, exchange
from synapse.peers.origin import Origin
from synapse.peers.sse import SSEReader
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent, StillWorking
from synapse.peers.wire import events_of
from synapse.registry import INPUT_REQUIRED, PROCESSING, AgentRegistry, Entry, current_dir
from synapse.tasks.expiry import with_expiry
from synapse.tasks.loop_guard import KEY, NOTICE, Chain

ANSWER = 30.0  # seconds for a request that waits for nothing; a host that hangs is replaced after 20
TAKEN = 5.0  # at least, for a message to be taken, however short the wait for its reply: a server may load
SILENCE = 45.0  # seconds without a byte of a stream; a server sends a comment every 15
PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds before the next attempt
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NOTES = {PROCESSING: "it is busy", INPUT_REQUIRED: "it asks something"}  # why a message waits
KIND = "agent"
WRONG_AGENT = 421


class NoEndpoint(Refused):
    """The server has no such endpoint."""


class LocalPeer:
    """An agent by its registry entry. An entry without a port is that of an agent that has ended."""

    idempotent = True

    def __init__(self, registry: AgentRegistry, entry: Entry, origin: Origin | None = None) -> None:
        self._registry = registry
        self._entry = entry
        self._origin = origin
        self._id = str(entry.get("agent_id", ""))
        self.name = str(entry["name"])

    @property
    def address(self) -> str:
        return f"{KIND}:{self._id}"

    @property
    def sender(self) -> Json:
        return {"id": self._id, "name": self.name}

    @property
    def place(self) -> Place:
        if "port" not in self._entry:
            raise TargetError(f"{self.name} has ended: see `synapse logs {self.name}`.")
        return Place(str(self._entry.get("socket") or ""), int(str(self._entry["port"])), self._id)

    async def send(
        self,
        message: str | A2AMessage,
        *,
        priority: int = 1,
        wait: bool = False,
        request_id: str = "",
        metadata: Json | None = None,
        context_id: str | None = None,
        timeout: float | None = None,
        expires: float | None = None,
        **waiting: Unpack[Waiting],
    ) -> A2ATask:
        if metadata is None:
            metadata, conversation = await chain_of(self._registry, self._origin, wait)
            context_id = context_id or conversation
        body: Json = {"message": A2AMessage.of(message).to_dict()}
        body["request_id"] = request_id or uuid.uuid4().hex
        body |= self._signed(metadata=with_expiry(metadata, expires), context_id=context_id)
        task = await self.submit(body, priority, self.patience(timeout, wait))
        if on_event := waiting.get("on_event"):
            note = task.note or _NOTES.get(str(self._entry.get("status")), "")
            on_event("queued", {"task_id": task.id, "state": task.status, "note": note})
        if not wait:
            return task
        try:
            return await self.wait_for(task, timeout, **waiting)
        except TargetError as error:
            return await self.last_known(task.id, error)

    async def follow(
        self, task_id: str, *, timeout: float | None = None, **waiting: Unpack[Waiting]
    ) -> A2ATask:
        try:
            task = await self.get(task_id)
            if task.ended:
                return task
            task.artifacts.clear()  # the stream begins with them
            return await self.wait_for(task, timeout, **waiting)
        except TargetError as error:
            return await self.last_known(task_id, error)

    async def get(self, task_id: str) -> A2ATask:
        return A2ATask.from_dict(await self.ask("GET", f"/tasks/{quote(task_id)}", again=True))

    async def answer(self, task_id: str, text: str, question: str = "") -> None:
        """A human at an agent's terminal answers as a human, not as that agent."""
        sender = self._signed() if self._origin and self._origin.in_turn else {}
        if question:
            await self.ask("POST", f"/questions/{quote(question)}", {"answer": text, **sender})
        else:  # a server that has only the specifications' endpoints
            await self.ask("POST", f"/tasks/{quote(task_id)}/input", {"input": text, **sender})

    async def cancel(self, task_id: str) -> A2ATask:
        return A2ATask.from_dict((await self.ask("POST", f"/tasks/{quote(task_id)}/cancel"))["task"])

    def commands(self, task_id: str) -> Commands:
        short = task_id[:8]
        return Commands(short, *(f"synapse {word} {short}" for word in ("task", "input", "cancel")))

    def patience(self, timeout: float | None, wait: bool) -> float:
        """Seconds for a message to be taken, when a caller waits `timeout` seconds for its reply."""
        return max(min(timeout or ANSWER, ANSWER), TAKEN) if wait else ANSWER

    async def reached(self) -> Place:
        """Where to send a request now."""
        return self.place

    def _signed(self, **more: object) -> Json:
        sender: Json = {"sender": self._origin.sender} if self._origin else {}
        return sender | {key: value for key, value in more.items() if value}

    async def submit(self, body: Json, priority: int, timeout: float) -> A2ATask:
        """The task, in the agent's queue. The server knows a repeated request by its id."""
        path = f"/tasks/send-priority?priority={priority}"
        try:
            answer = await self.ask("POST", path, body, timeout=timeout, again=True)
        except NoEndpoint:  # such a server knows no request ids either
            answer = await self.ask("POST", "/tasks/send", body, timeout=timeout)
        return A2ATask.from_dict(answer.get("task", answer))

    async def wait_for(self, task: A2ATask, timeout: float | None, **waiting: Unpack[Waiting]) -> A2ATask:
        try:
            async with asyncio.timeout(timeout):
                await _Follower(self, task, **waiting).run()
        except TimeoutError:
            raise StillWorking.after(timeout or 0, self.name, task, self.commands(task.id).shows) from None
        except NoReply as error:
            shows = self.commands(task.id).shows
            why = str(error).rstrip(".")
            raise NoReply(f"{why}; the task goes on, and `{shows}` shows what becomes of it.") from error
        return task

    async def ask(
        self, method: str, path: str, body: object = None, *, timeout: float = ANSWER, again: bool = False
    ) -> Json:
        """The JSON of one response; `again` says that the request may be sent twice."""
        try:
            async with asyncio.timeout(timeout):
                pause = PAUSE
                while True:
                    try:
                        async with exchange(await self.reached(), method, path, body) as response:
                            return await self.checked(response)
                    except OSError as error:
                        if isinstance(error, Broken) and not again:
                            raise SynapseError(
                                f"{self.name} left before it answered: look whether it was done."
                            ) from error
                        self.check_alive(error)
                    pause = await _rest(pause)
        except TimeoutError:
            raise WaitTimeout(
                f"{self.name} does not answer within {timeout:g} s: try again, or see `synapse logs`."
            ) from None

    async def checked(self, response: Response) -> Json:
        """The JSON of a response. Raises Refused with the server's own sentence."""
        if response.status == WRONG_AGENT:
            raise TargetError(f"{self.name} has ended, and another agent has its place: see `synapse list`.")
        missing = response.status in (404, 405)
        try:
            answer = await response.json()
        except Broken:
            if not missing:
                raise
            answer = None  # a page for people
        if response.status >= 400 or not isinstance(answer, dict):
            said = answer if isinstance(answer, dict) else {}
            code = str(said.get("code", ""))  # our servers name every refusal
            kind = NoEndpoint if missing and not code else Refused
            raise kind(f"{self.name} refused: {said.get('detail') or response.status}", code)
        return answer

    def check_alive(self, error: OSError) -> None:
        """Raise unless another attempt makes sense: a living agent gets a new host at the same place."""
        if self._id and not self._registry.is_alive(self._id):
            raise TargetError(f"{self.name} has ended: see `synapse logs {self.name}`.") from error
        if not self._id and not isinstance(error, Broken):
            raise TargetError(f"{self.name} does not answer: `synapse list` shows who is running.") from error

    async def last_known(self, task_id: str, error: TargetError) -> A2ATask:
        """The end of a task whose agent has ended with this error."""
        from synapse.tasks.shelf import last_known

        task = await last_known(task_id)
        if task is None or not task.ended:
            raise error
        return A2ATask.from_dict(task.to_dict())


class _Follower:
    """Reads a task's stream, over as many connections as it takes."""

    def __init__(
        self, peer: LocalPeer, task: A2ATask, on_event: OnEvent | None = None, through_questions: bool = False
    ) -> None:
        self._peer = peer
        self._task = task
        self._path = f"/tasks/{quote(task.id)}"
        self._on_event = on_event
        self._through = through_questions
        self._receipts = len(task.receipts)
        self._last_id = "0"  # from the beginning, with receipts if the server still has them

    @property
    def _done(self) -> bool:
        return self._task.ended or (self._task.asks and not self._through)

    async def run(self) -> None:
        pause = PAUSE
        while True:
            seen = self._last_id
            try:
                await self._read()
            except TimeoutError:
                pass  # SILENCE: connect again
            except OSError as error:
                self._peer.check_alive(error)
            if self._done and (self._task.ended or await self._asks_now()):
                break
            pause = await _rest(PAUSE if self._last_id != seen else pause)
        # The stream of a task that had ended before has no receipts.
        if self._task.ended and len(self._task.receipts) <= self._receipts:
            with suppress(SynapseError):  # the agent may have ended since; the reply is here
                await self._read_whole()

    async def _asks_now(self) -> bool:
        """A stream begins with what was before: a question in it may have been answered since."""
        now = await self._peer.get(self._task.id)
        if not now.asks:
            self._task.status = "working"
        return now.asks

    async def _read(self) -> None:
        headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
        place = await self._peer.reached()
        async with exchange(place, "GET", f"{self._path}/subscribe", headers=headers) as response:
            if response.status == 204:
                await self._read_whole()
                return
            if response.status != 200:
                try:
                    await self._peer.checked(response)
                except NoEndpoint:
                    await self._poll()
                    return
            reader = SSEReader()
            async with aclosing(response.pieces()) as pieces:
                while not self._done:
                    async with asyncio.timeout(SILENCE):
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    self._take(reader, piece)

    async def _poll(self) -> None:
        pause = PAUSE
        while True:
            for event, data in events_of(await self._peer.ask("GET", self._path, again=True)):
                self._tell(event, data)
            if self._done:
                return
            pause = await _rest(pause)

    def _take(self, reader: SSEReader, piece: bytes) -> None:
        try:
            for event in reader.feed(piece):
                data = json.loads(event.data)
                if not isinstance(data, dict):
                    raise ValueError("an event that is no object")
                self._tell(event.type, data)
                self._last_id = event.id
        except ValueError as error:
            raise SynapseError(f"{self._peer.name} sent a stream that makes no sense: {error}.") from error

    def _tell(self, event: str, data: Json) -> None:
        for kind, told in self._task.take(event, data):
            if self._on_event is not None:
                self._on_event(kind, told)

    async def _read_whole(self) -> None:
        self._task.__dict__.update((await self._peer.get(self._task.id)).__dict__)


class LocalSource(Source):
    """`me` is the registry entry of the agent that asks, which does not find itself."""

    kind = KIND

    def __init__(
        self, registry: AgentRegistry, origin: Origin | None = None, me: Entry | None = None
    ) -> None:
        self._registry = registry
        self._origin = origin
        self._me = str(me["agent_id"]) if me else ""
        self._here = str(me["working_dir"]) if me else None

    def find(self, name: str) -> Peer:
        return self.peer(self._registry.resolve(name, self._here, but=self._me))

    def at(self, place: str, name: str) -> Peer:
        entry = self._registry.list_agents().get(place)
        return self.peer(entry or {"agent_id": place, "name": name})

    def author(self, sender: Json) -> Peer | None:
        entry = self._registry.list_agents().get(str(sender.get("id")))
        return self.peer(entry) if entry else None

    def everybody(self, here: bool) -> list[Peer]:
        me = self._me or (self._origin.id if self._origin else "")
        where = self._here or current_dir()
        others = (e for e in self._registry.list_agents().values() if e["agent_id"] != me)
        return [self.peer(entry) for entry in others if not here or entry["working_dir"] == where]

    def names(self) -> set[str]:
        found = set()
        for entry in self._registry.list_agents().values():
            if entry["agent_id"] != self._me:
                kind = str(entry["agent_type"])
                found |= {str(entry["name"]), kind, f"{kind}-{entry['port']}"}
        return found

    def listed(self) -> list[Listed]:
        return [
            Listed(str(entry["name"]), f"{entry['agent_type']}, {str(entry['status']).lower()}")
            for entry in self._registry.list_agents().values()
        ]

    @property
    def folder(self) -> str:
        return str(self._registry.registry_dir)

    def peer(self, entry: Entry) -> LocalPeer:
        return LocalPeer(self._registry, entry, self._origin)


def entry_at(registry: AgentRegistry, endpoint: str) -> Entry:
    """The registry entry for an endpoint such as http://localhost:8100, or one with its port only."""
    parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    try:
        port, host = parts.port, parts.hostname
    except ValueError:
        port = host = None
    if port is None or host not in LOOPBACK:
        raise TargetError(f"{endpoint!r} is no agent of this machine: use its name, or its endpoint.")
    known = (e for e in registry.list_agents().values() if e["port"] == port and e.get("socket"))
    return next(known, {"name": f"the agent on port {port}", "port": port})


async def chain_of(registry: AgentRegistry, origin: Origin | None, waits: bool) -> tuple[Json, str]:
    """The metadata of a message: the agents that it comes through, `origin` the last; and the context that it
    belongs to, if an agent sends it because of another message."""
    if origin is None:
        return {}, ""
    task, used = await _current_task(registry, origin.id) if origin.in_turn else (None, {})
    chain = Chain.of(task.metadata, task.message.get("metadata")) if task else Chain()
    found = chain._replace(used=used).then(origin.id, waits and origin.in_turn).to_dict()
    metadata = {KEY: found | {NOTICE: True} if origin.in_turn and not waits else found}
    return metadata, task.context_id if task else ""


async def _current_task(registry: AgentRegistry, agent_id: str) -> tuple[A2ATask | None, Json]:
    """What an agent works on, and what is used in its conversation."""
    entry = registry.list_agents().get(agent_id)
    if entry is None:
        return None, {}
    try:
        answer = await _asked_about_itself(LocalPeer(registry, entry))
    except SynapseError:
        return None, {}  # our own host does not answer: it is being replaced, or has ended before us
    task = answer.get("task")
    return (A2ATask.from_dict(task), answer.get("used") or {}) if isinstance(task, dict) else (None, {})


async def _asked_about_itself(peer: LocalPeer) -> Json:
    try:
        return await peer.ask("GET", "/conversation", again=True)
    except NoEndpoint:  # a server that has only the specifications' endpoints
        found = (await peer.ask("GET", "/tasks?state=working&limit=1", again=True)).get("tasks")
        return {"task": found[0]} if isinstance(found, list) and found else {}


async def _rest(pause: float) -> float:
    await asyncio.sleep(pause)
    return min(pause * 2, LONGEST_PAUSE)
