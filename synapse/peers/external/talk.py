"""One task of an external agent: sending the message, then streaming or polling the task."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from synapse.errors import Refused, SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.dialect import Dialect, Outgoing
from synapse.peers.external.http import NotThere, Unreachable
from synapse.peers.prompts import GONE
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent
from synapse.peers.wire import MESSAGE, TASK, events_of, kind_of

if TYPE_CHECKING:
    from synapse.peers.external.standard import Standard

    Protocol = Standard | Dialect

POLL, LONGEST_POLL = 0.2, 3.0  # seconds between two polls
LONGEST_ASKED = 15.0  # seconds between two polls of a task that waits for an answer
RETURNS = 5  # attempts to resume a broken stream without an event in between
_NO_STREAMS = ("-32601", "-32004", "501")  # no such method, not supported
_PASSING = ("429", "500", "502", "503", "504")  # errors of a server that may pass


class Talk:
    """`task` is kept up to date; `tell` is called with each event."""

    def __init__(self, agent: ExternalAgent, protocol: Protocol, task: A2ATask, tell: OnEvent) -> None:
        self._agent = agent
        self._protocol = protocol
        self.task = task
        self._tell = tell
        self._heard = 0  # responses and events of the agent
        self._gap = False  # a resumed stream may lack events
        self._answers = 0  # counted when an answer begins and when it ends
        self._answered = asyncio.Event()

    async def send(self, message: A2AMessage, metadata: Json, wait: bool) -> None:
        """Send a message that begins the task or, if the task has an id, answers what it asks."""
        outgoing = Outgoing(
            message=A2AMessage(message.role, _encodable(message.parts)),
            message_id=uuid.uuid4().hex,
            metadata=metadata,
            context_id=self.task.context_id,
            task_id=self.task.id,
        )
        if isinstance(self._protocol, Dialect):
            await self._send_dialect(self._protocol, outgoing)
        elif wait and self._agent.streams:
            try:
                await self._stream(self._protocol.stream(outgoing))
                return
            except (NotThere, Refused) as error:
                # It has not taken the message: the card promised streams that there are not.
                if self._heard or not (isinstance(error, NotThere) or error.code in _NO_STREAMS):
                    raise
                self._take(await self._protocol.send(outgoing))
        else:
            self._take(await self._protocol.send(outgoing))
        if wait:
            await self._poll()

    async def follow(self, through_questions: bool = False) -> None:
        if not (through_questions and self.task.asks):
            await self._look()
        while not self.task.ended:
            if self.task.asks:
                if not through_questions:
                    return
                await self._until_answered()
            elif self._agent.streams and not isinstance(self._protocol, Dialect):
                self._gap = True
                await self._stream(self._protocol.subscribe(self.task.id))
            else:
                await self._poll()

    async def answer(self, message: A2AMessage, metadata: Json) -> None:
        """Answer a question while `follow` waits, which sees the result. Sent only once."""
        if not self.task.asks:
            raise Refused(GONE)
        self._answers += 1
        try:
            await self.send(message, metadata, wait=False)
        finally:
            self._answers += 1
        self._answered.set()

    async def _send_dialect(self, protocol: Dialect, outgoing: Outgoing) -> None:
        """An agent without `/tasks/{id}/input` gets a message with the task's id."""
        if outgoing.task_id:
            try:
                await protocol.input(outgoing)
                self.task.status = "working"
                return
            except NotThere:
                await self._look()
                if not self.task.asks:
                    raise Refused(f"{self._agent.alias}: {GONE}") from None
        self._take(await protocol.send(outgoing))

    @property
    def _stops(self) -> bool:
        return self.task.ended or self.task.asks

    def _take(self, result: Json) -> None:
        kind = kind_of(result)
        self._gap = self._gap and kind != TASK
        for event, data in events_of(result):
            self.task.context_id = str(self.task.context_id or data.get("contextId") or "")
            if not self.task.id and (found := data.get("taskId")):
                self.task.id = str(found)
                if kind != MESSAGE:  # a bare message has no task
                    self._tell("accepted", {"task_id": self.task.id, "context_id": self.task.context_id})
            for what, told in self.task.take(event, data):
                self._tell(what, told)
        if not self.task.id:
            raise SynapseError(
                f"{self._agent.alias} did not say what became of the message: it may have arrived."
            )
        self._heard += 1

    async def _stream(self, results: AsyncGenerator[Json, None]) -> None:
        """Read a stream and resume it where it breaks; poll if that does not help."""
        assert not isinstance(self._protocol, Dialect)
        returns = 0
        while True:
            before = self._heard
            try:
                async with aclosing(results):
                    async for result in results:
                        self._take(result)
                        if not self._stops:
                            continue
                        if self._gap and self.task.ended:
                            # Some agents resume with the next event, not with the whole task.
                            with suppress(SynapseError):
                                await self._look()
                        return
            except (Unreachable, NotThere, Refused) as error:
                if not self._heard:
                    raise
                if not isinstance(error, Unreachable):  # it does not stream this task any more
                    break
            if not self._heard:
                raise SynapseError(
                    f"{self._agent.alias} left without a word on the message: it may have arrived."
                )
            returns = returns + 1 if self._heard == before else 1
            if returns == RETURNS:
                break
            await asyncio.sleep(min(POLL * 2**returns, LONGEST_POLL))
            self._gap = True
            results = self._protocol.subscribe(self.task.id)
        await self._poll()

    async def _poll(self) -> None:
        pause = POLL
        while not self._stops:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL)
            await self._look()

    async def _until_answered(self) -> None:
        """Also by another client. An agent that cannot be reached keeps its question."""
        pause = POLL
        while self.task.asks:
            self._answered.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._answered.wait()
                pause = POLL
            except TimeoutError:
                pause = min(pause * 1.5, LONGEST_ASKED)
                try:
                    await self._look()
                except SynapseError as error:
                    if not _passes(error):
                        raise

    async def _look(self) -> None:
        """Read the task. Passing errors are retried; a state from before an answer is not used."""
        answers = self._answers
        for lost in range(1, RETURNS + 1):
            try:
                result = await self._protocol.get(self.task.id)
                if answers == self._answers:
                    self._take(result)
                return
            except SynapseError as error:
                if lost == RETURNS or not _passes(error):
                    raise
            await asyncio.sleep(min(POLL * 2**lost, LONGEST_POLL))
            if answers != self._answers:
                return


def _passes(error: SynapseError) -> bool:
    return isinstance(error, Unreachable) or (isinstance(error, Refused) and error.code in _PASSING)


def _encodable(parts: list[Json]) -> list[Json]:
    """With `?` for characters that UTF-8 cannot encode, such as half of a surrogate pair."""
    found: list[Json] = json.loads(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace"))
    return found
