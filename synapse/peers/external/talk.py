"""One task of an agent elsewhere: a message to it, and what becomes of it, streamed or asked after."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing

from synapse.errors import Refused, SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.http import LARGEST_STREAM, Caller, NotThere, Unreachable
from synapse.peers.external.wire import MESSAGE, TASK, Call, Wire, events_of, kind_of
from synapse.peers.sse import EventTooLong, SSEReader
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent

POLL, LONGEST_POLL = 0.2, 3.0  # seconds between two looks at a task that cannot be followed
LONGEST_ASKED = 15.0  # and at one that waits for an answer
RETURNS = 5  # times to a stream that broke, without an event in between
_PASSING = ("429", "500", "502", "503", "504")  # a server that has trouble of its own


class Talk:
    """`task` is what is known of it so far, and is kept up to date; `tell` is told what happens."""

    def __init__(self, agent: ExternalAgent, caller: Caller, task: A2ATask, tell: OnEvent) -> None:
        self._agent = agent
        self._caller = caller
        self._wire = Wire(agent)
        self._task = task
        self._tell = tell
        self._left = LARGEST_STREAM  # bytes, over all its streams
        self._heard = False  # the agent has answered
        self._gap = False  # a stream was taken up, and may have left something out

    async def send(self, message: A2AMessage, metadata: Json, wait: bool) -> None:
        """A message that begins the task; or, where there is one already, the answer to what it asks."""
        if self._task.id and self._agent.protocol == "old":
            await self._give_input(message, metadata)
        elif wait and self._agent.streams:
            await self._stream(self._wire.stream(self._body(message, metadata)))
            return
        else:
            await self._post(message, metadata)
        if wait:
            await self._poll()

    async def follow(self, through_questions: bool = False) -> None:
        """A task that was begun before."""
        if not (through_questions and self._task.asks):
            await self._look()
        while not self._task.ended:
            if self._task.asks:
                if not through_questions:
                    return
                await self._until_answered()
            elif self._agent.streams:
                self._gap = True
                await self._stream(self._wire.subscribe(self._task.id))
            else:
                await self._poll()

    # --- what is said -------------------------------------------------------------------------------------

    def _body(self, message: A2AMessage, metadata: Json) -> Json:
        return self._wire.message(message, uuid.uuid4().hex, metadata, self._task.context_id, self._task.id)

    async def _post(self, message: A2AMessage, metadata: Json) -> None:
        call = self._wire.send(self._body(message, metadata), wait=False)
        self._take(self._wire.result(await self._caller.ask(call)))

    async def _give_input(self, message: A2AMessage, metadata: Json) -> None:
        """In the old dialect; an agent that has no such path is sent a message with the task's id."""
        try:
            call = self._wire.input(self._task.id, message.text, metadata)
            self._wire.result(await self._caller.ask(call))
            self._task.status = "working"
        except NotThere:
            await self._look()
            if not self._task.asks:
                raise Refused(f"{self._agent.alias} does not ask any more: nothing was sent.") from None
            await self._post(message, metadata)

    # --- what comes back ----------------------------------------------------------------------------------

    @property
    def _stops(self) -> bool:
        return self._task.ended or self._task.asks

    def _take(self, result: Json) -> None:
        kind = kind_of(result)
        self._gap = self._gap and kind != TASK
        for event, data in events_of(result):
            self._task.context_id = str(self._task.context_id or data.get("contextId") or "")
            if not self._task.id and (found := data.get("taskId")):
                self._task.id = str(found)
                if kind != MESSAGE:  # there is no task behind that one
                    self._tell("accepted", {"task_id": self._task.id, "context_id": self._task.context_id})
            for what, told in self._task.take(event, data):
                self._tell(what, told)
        if not self._task.id:
            raise SynapseError(f"{self._agent.alias} did not say what became of the message.")
        self._heard = True

    async def _stream(self, call: Call) -> None:
        """A stream, taken up again where it breaks."""
        returns = 0
        while True:
            before = self._left
            try:
                async with aclosing(self._results(call)) as results:
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
            returns = returns + 1 if self._left == before else 1
            if returns == RETURNS:
                break
            await asyncio.sleep(min(POLL * 2**returns, LONGEST_POLL))
            self._gap = True
            call = self._wire.subscribe(self._task.id)
        await self._poll()

    async def _complete(self) -> None:
        """Some agents go on with a stream where they are, not from the task as a whole."""
        if self._gap and self._task.ended:
            try:
                await self._look()
            except SynapseError:
                pass  # it has left since; what it said is here

    async def _results(self, call: Call) -> AsyncGenerator[Json, None]:
        """What a stream brings. An agent that answers with plain JSON instead is taken at its word."""
        async with self._caller.open(call) as response:
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                yield self._wire.result(await self._caller.read(response))
                return
            reader = SSEReader(LARGEST_STREAM)
            async with aclosing(self._caller.pieces(response, self._left)) as pieces:
                async for piece in pieces:
                    self._left -= len(piece)
                    for document in self._documents(reader, piece):
                        yield self._wire.result(document)

    def _documents(self, reader: SSEReader, piece: bytes) -> list[object]:
        try:
            return [json.loads(event.data) for event in reader.feed(piece)]
        except (EventTooLong, ValueError, RecursionError) as error:
            raise SynapseError(f"{self._agent.alias} sent a stream that makes no sense: {error}.") from error

    # --- asking after it ----------------------------------------------------------------------------------

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
        while self._task.asks:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_ASKED)
            try:
                await self._look()
            except SynapseError as error:
                if not _passes(error):
                    raise

    async def _look(self) -> None:
        """How it stands. What may pass is given some time to."""
        for lost in range(1, RETURNS + 1):
            try:
                self._take(self._wire.result(await self._caller.ask(self._wire.get(self._task.id))))
                return
            except SynapseError as error:
                if lost == RETURNS or not _passes(error):
                    raise
            await asyncio.sleep(min(POLL * 2**lost, LONGEST_POLL))


def _passes(error: SynapseError) -> bool:
    return isinstance(error, Unreachable) or (isinstance(error, Refused) and error.code in _PASSING)
