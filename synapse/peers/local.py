"""Requests to agents on this machine: a message arrives once, however often it has to be sent.

A server that has only the specifications' endpoints (`/tasks/send`, `GET /tasks/{id}`) is polled.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import aclosing
from typing import Any
from urllib.parse import quote, urlsplit

from synapse.errors import Refused, SynapseError, TargetError, WaitTimeout
from synapse.peers.local_http import Broken, Place, Response, exchange
from synapse.peers.sse import EventTooLong, SSEReader
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent, StillWorking
from synapse.peers.wire import events_of
from synapse.registry import AgentRegistry, Entry

Target = str | Entry  # an endpoint such as http://localhost:8100, or a registry entry

ANSWER = 30.0  # seconds for a request that waits for nothing; a host that hangs is replaced after 20
TAKEN = 5.0  # at least, for a message to be taken, however short the wait for its reply: a server may load
SILENCE = 45.0  # seconds without a sign of life, which comes every 15
PAUSE, LONGEST_PAUSE = 0.05, 1.0  # before trying again
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class LocalAgents:
    """Requests to agents that run here, found by their registry entry."""

    def __init__(self, registry: AgentRegistry | None = None) -> None:
        self.registry = registry or AgentRegistry()

    async def send(
        self,
        target: Target,
        message: A2AMessage,
        priority: int = 1,
        *,
        sender: Json | None = None,
        metadata: Json | None = None,
        context_id: str | None = None,
        request_id: str | None = None,
        timeout: float = ANSWER,
    ) -> A2ATask:
        """The task, in the agent's queue. A request that may be lost is sent again, as the same one."""
        agent = self._agent(target)
        body: Json = {"message": message.to_dict(), "request_id": request_id or uuid.uuid4().hex}
        more = {"sender": sender, "metadata": metadata, "context_id": context_id}
        body |= {key: value for key, value in more.items() if value}
        path = f"/tasks/send-priority?priority={priority}"
        try:
            answer = await agent.ask("POST", path, body, timeout=timeout, again=True)
        except NoEndpoint:  # which knows nothing of request ids either
            answer = await agent.ask("POST", "/tasks/send", body, timeout=timeout)
        return A2ATask.from_dict(answer.get("task", answer))

    async def follow(
        self,
        target: Target,
        task: A2ATask,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        """The task when it has ended or asks something (or only when it has ended, `through_questions`).

        Raises StillWorking, with the task as it is, when time is up; nothing is canceled.
        """
        agent = self._agent(target)
        try:
            async with asyncio.timeout(timeout):
                await _Follower(agent, task, on_event, through_questions).run()
        except TimeoutError:
            raise StillWorking(
                f"{agent.name} has not finished within {timeout:g} s. It goes on, and the reply is kept: "
                f"`synapse task {task.id[:8]}` shows it.",
                task,
            ) from None
        return task

    async def get(self, target: Target, task_id: str) -> A2ATask:
        return A2ATask.from_dict(await self._agent(target).ask("GET", f"/tasks/{quote(task_id)}", again=True))

    async def answer(self, target: Target, task_id: str, text: str, sender: Json | None = None) -> None:
        """What the task asks is answered. Never sent twice: what was lost may have been typed."""
        body = {"input": text, **({"sender": sender} if sender else {})}
        await self._agent(target).ask("POST", f"/tasks/{quote(task_id)}/input", body)

    async def cancel(self, target: Target, task_id: str) -> A2ATask:
        answer = await self._agent(target).ask("POST", f"/tasks/{quote(task_id)}/cancel")
        return A2ATask.from_dict(answer["task"])

    async def running(self, agent_id: str) -> A2ATask | None:
        """The task that an agent of ours is working on."""
        entry = self.registry.list_agents().get(agent_id)
        if entry is None:
            return None
        answer = await self._agent(entry).ask("GET", "/tasks?state=working&limit=1", again=True)
        return next(map(A2ATask.from_dict, answer.get("tasks", ())), None)

    def _agent(self, target: Target) -> _Agent:
        if not isinstance(target, str):
            place = Place(str(target.get("socket") or ""), int(str(target["port"])))
            return _Agent(self.registry, str(target["name"]), place, target)
        parts = urlsplit(target if "//" in target else f"//{target}")
        try:
            port, host = parts.port, parts.hostname
        except ValueError:
            port = host = None
        if port is None or host not in LOOPBACK:
            raise TargetError(f"{target!r} is no agent of this machine: use its name, or its endpoint.")
        for entry in self.registry.list_agents().values():
            if entry["port"] == port and entry.get("socket"):
                return self._agent(entry)
        return _Agent(self.registry, f"the agent on port {port}", Place(port=port), None)


class NoEndpoint(Refused):
    """The server has no such endpoint."""


class _Agent:
    """One of them, and what its answers and its silence mean."""

    def __init__(self, registry: AgentRegistry, name: str, place: Place, entry: Entry | None) -> None:
        self._registry = registry
        self.name = name
        self.place = place
        self._entry = entry

    async def ask(
        self, method: str, path: str, body: object = None, *, timeout: float = ANSWER, again: bool = False
    ) -> Json:
        """One answer; `again` says that asking twice does no harm."""
        try:
            async with asyncio.timeout(timeout):
                pause = PAUSE
                while True:
                    try:
                        async with exchange(self.place, method, path, body) as response:
                            return await self.checked(response)
                    except OSError as error:
                        if isinstance(error, Broken) and not again:
                            raise SynapseError(
                                f"{self.name} left before it answered; look whether it was done."
                            ) from error
                        self.check_alive(error)
                    pause = await rest(pause)
        except TimeoutError:
            raise WaitTimeout(
                f"{self.name} does not answer within {timeout:g} s: try again, or see `synapse logs`."
            ) from None

    async def checked(self, response: Response) -> Json:
        """The JSON of an answer; a refusal in its own words."""
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
        """Whether it is worth trying again: the host of a living agent comes back, at the same place."""
        gone = self._entry is None or not self._registry.is_alive(str(self._entry["agent_id"]))
        if gone and self._entry is not None:
            raise TargetError(f"{self.name} has ended: see `synapse logs {self.name}`.") from error
        if gone and not isinstance(error, Broken):
            raise TargetError(f"{self.name} does not answer: `synapse list` shows who is running.") from error


class _Follower:
    """Reads a task's stream, over as many connections as it takes."""

    def __init__(
        self, agent: _Agent, task: A2ATask, on_event: OnEvent | None, through_questions: bool
    ) -> None:
        self._agent = agent
        self._task = task
        self._on_event = on_event or (lambda kind, data: None)
        self._through = through_questions
        self._receipts = len(task.receipts)
        self._last_id = "0"  # from the beginning, receipts too, where that is still known

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
                pass  # of a connection that has gone silent
            except OSError as error:
                self._agent.check_alive(error)
            if self._done:
                await self._complete()
                return
            pause = await rest(PAUSE if self._last_id != seen else pause)

    async def _read(self) -> None:
        path = f"/tasks/{quote(self._task.id)}/subscribe"
        headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
        async with exchange(self._agent.place, "GET", path, headers=headers) as response:
            if response.status == 204:
                await self._read_whole()
                return
            if response.status != 200:
                try:
                    await self._agent.checked(response)
                except NoEndpoint:
                    await self._poll()
                    return
            reader = SSEReader()
            async with aclosing(response.pieces()) as pieces:
                while True:
                    async with asyncio.timeout(SILENCE):
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    self._take(reader, piece)
                    if self._done:
                        return

    async def _poll(self) -> None:
        pause = PAUSE
        while True:
            answer = await self._agent.ask("GET", f"/tasks/{quote(self._task.id)}", again=True)
            for event, data in events_of(answer):
                self._tell(event, data)
            if self._done:
                return
            pause = await rest(pause)

    def _tell(self, event: str, data: Json) -> None:
        for kind, told in self._task.take(event, data):
            self._on_event(kind, told)

    def _take(self, reader: SSEReader, piece: bytes) -> None:
        try:
            for event in reader.feed(piece):
                self._tell(event.type, _object(event.data))
                self._last_id = event.id
        except (EventTooLong, ValueError) as error:
            raise SynapseError(f"{self._agent.name} sent a stream that makes no sense: {error}.") from error

    async def _complete(self) -> None:
        """A task that had ended before we came is told without its receipts."""
        if self._task.ended and len(self._task.receipts) <= self._receipts:
            try:
                await self._read_whole()
            except SynapseError:
                pass  # the agent has ended since; the reply is here

    async def _read_whole(self) -> None:
        answer = await self._agent.ask("GET", f"/tasks/{quote(self._task.id)}", again=True)
        self._task.__dict__.update(A2ATask.from_dict(answer).__dict__)


async def rest(pause: float) -> float:
    """Wait, and say how long to wait the next time."""
    await asyncio.sleep(pause)
    return min(pause * 2, LONGEST_PAUSE)


def _object(text: str) -> Any:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("an event that is no object")
    return found
