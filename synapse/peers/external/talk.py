"""One task of an external agent: a message to it, and what becomes of it, streamed or polled."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from synapse.base.loading import load
from synapse.errors import Refused, SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.card import OLD
from synapse.peers.external.dialect import Dialect, Outgoing
from synapse.peers.external.http import Caller, NotThere, Unreachable
from synapse.peers.prompts import GONE
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent
from synapse.peers.wire import MESSAGE, TASK, events_of, kind_of

if TYPE_CHECKING:
    from synapse.peers.external.standard import Standard

POLL, LONGEST_POLL = 0.2, 3.0  # seconds between two looks at a task that cannot be followed
LONGEST_ASKED = 15.0  # and at one that waits for an answer
RETURNS = 5  # times to a stream that broke, without an event in between
_PASSING = ("429", "500", "502", "503", "504")  # a server that has trouble of its own


async def protocol_of(agent: ExternalAgent, caller: Caller) -> Standard | Dialect:
    """The calls that an agent understands."""
    if agent.protocol == OLD:
        return Dialect(agent, caller)
    await load("synapse.peers.external.standard")
    from synapse.peers.external.standard import Standard

    return Standard(agent, caller, await caller.client())


class Talk:
    """`task` is what is known of it so far, and is kept up to date; `tell` is told what happens."""

    def __init__(
        self, agent: ExternalAgent, protocol: Standard | Dialect, task: A2ATask, tell: OnEvent
    ) -> None:
        self._agent = agent
        self._protocol = protocol
        self.task = task
        self._tell = tell
        self._heard = 0  # answers and events of the agent
        self._gap = False  # a stream was taken up, and may have left something out
        self._answers = 0  # begun and ended
        self._answered = asyncio.Event()

    async def send(self, message: A2AMessage, metadata: Json, wait: bool) -> None:
        """A message that begins the task; or, where there is one already, the answer to what it asks."""
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
            await self._stream(self._protocol.stream(outgoing))
            return
        else:
            self._take(await self._protocol.send(outgoing))
        if wait:
            await self._poll()

    async def follow(self, through_questions: bool = False) -> None:
        """A task that was begun before."""
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
        """While the task is followed, and asks. Sent once: what becomes of it is seen by the task."""
        if not self.task.asks:
            raise Refused(GONE)
        self._answers += 1
        try:
            await self.send(message, metadata, wait=False)
        finally:
            self._answers += 1
        self._answered.set()

    async def _send_dialect(self, protocol: Dialect, outgoing: Outgoing) -> None:
        """An agent that does not take input for a task is sent a message with the task's id."""
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

    # --- what comes back ----------------------------------------------------------------------------------

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
                if kind != MESSAGE:  # there is no task behind that one
                    self._tell("accepted", {"task_id": self.task.id, "context_id": self.task.context_id})
            for what, told in self.task.take(event, data):
                self._tell(what, told)
        if not self.task.id:
            raise SynapseError(f"{self._agent.alias} did not say what became of the message.")
        self._heard += 1

    async def _stream(self, results: AsyncGenerator[Json, None]) -> None:
        """A stream, taken up again where it breaks."""
        assert not isinstance(self._protocol, Dialect)
        returns = 0
        while True:
            before = self._heard
            try:
                async with aclosing(results):
                    async for result in results:
                        self._take(result)
                        if self._stops:
                            await self._complete()
                            return
            except (Unreachable, NotThere, Refused) as error:
                if not self._heard or returns == RETURNS:
                    raise
                if not isinstance(error, Unreachable):  # it streams no more of this task
                    break
            if not self._heard:
                raise SynapseError(f"{self._agent.alias} left before it said what became of the message.")
            returns = returns + 1 if self._heard == before else 1
            if returns == RETURNS:
                break
            await asyncio.sleep(min(POLL * 2**returns, LONGEST_POLL))
            self._gap = True
            results = self._protocol.subscribe(self.task.id)
        await self._poll()

    async def _complete(self) -> None:
        """Some agents go on with a stream where they are, not from the task as a whole."""
        if self._gap and self.task.ended:
            try:
                await self._look()
            except SynapseError:
                pass  # it has left since; what it said is here

    # --- polling ------------------------------------------------------------------------------------------

    async def _poll(self) -> None:
        """For those that cannot stream."""
        pause = POLL
        while not self._stops:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL)
            await self._look()

    async def _until_answered(self) -> None:
        """By whomever. An agent that is away keeps its question: who answers it is told."""
        pause = POLL
        while self.task.asks:
            self._answered.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._answered.wait()
                pause = POLL
                continue
            except TimeoutError:
                pause = min(pause * 1.5, LONGEST_ASKED)
            try:
                await self._look()
            except SynapseError as error:
                if not _passes(error):
                    raise

    async def _look(self) -> None:
        """How it stands. What may pass is given some time to; while an answer is given, nothing is read."""
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
    """With `?` for what UTF-8 has no bytes for, such as half of a surrogate pair from a terminal."""
    found: list[Json] = json.loads(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace"))
    return found
