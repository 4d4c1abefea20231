"""The agents of the mesh as peers: `codex@box`.

A message goes into the mailbox of its agent and waits there, whether the agent's machine is awake or not. The
id of its task is known before it is taken: both sides compute it from the sender and the request.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import Unpack

from synapse.errors import Refused, WaitTimeout
from synapse.peers.base import Commands, Waiting
from synapse.peers.local import chain_of
from synapse.peers.mesh.documents import packed
from synapse.peers.mesh.events import EventReader
from synapse.peers.mesh.link import Link, MeshError, linked, stamped
from synapse.peers.mesh.membership import KIND, Membership
from synapse.peers.mesh.names import CALL, OPERATION, TASK, URGENT, task_id
from synapse.peers.mesh.roster import MeshAgent
from synapse.peers.origin import Origin
from synapse.peers.prompts import question_id
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent, StillWorking
from synapse.peers.wire import events_of
from synapse.registry import INPUT_REQUIRED, PROCESSING, AgentRegistry
from synapse.tasks.expiry import with_expiry
from synapse.tasks.task import TaskNotFound

STORED = 30.0  # seconds for a message to be stored by the mesh's server
TAKEN = 5.0  # seconds for it to be taken by its agent, if nobody waits for the reply
ANSWER = 10.0  # seconds for a call
AGAIN = 1.0  # seconds until a call that may be repeated is sent again
ASLEEP = "its machine does not answer; the message waits in its mailbox"
_NOTES = {PROCESSING: "it is busy", INPUT_REQUIRED: "it asks something"}


class MeshPeer:
    idempotent = True

    def __init__(
        self, agent: MeshAgent, member: Membership, registry: AgentRegistry, origin: Origin | None = None
    ) -> None:
        self.agent = agent
        self.name = agent.address
        self._member = member
        self._registry = registry
        self._origin = origin
        self._asked: dict[str, Json] = {}  # what each task asks

    @property
    def address(self) -> str:
        return f"{KIND}:{self.agent.machine}/{self.agent.id}"

    @property
    def sender(self) -> Json:
        return {"id": self.agent.id, "name": self.name}

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
        said = A2AMessage.of(message)
        request_id = request_id or uuid.uuid4().hex
        body: Json = {"message": said.to_dict(), "request_id": request_id, "priority": priority}
        body |= self._signed(metadata=with_expiry(metadata, expires), context_id=context_id)
        task = A2ATask(task_id(self._member.machine, self.agent.key, request_id), message=said.to_dict())
        async with linked(self._member) as link, self._reader(link, task.id) as reader:
            await self._submit(link, body, priority, request_id, timeout or STORED if wait else STORED)
            note = ASLEEP if self.agent.stale else _NOTES.get(self.agent.status, "")
            task.note = note
            if on_event := waiting.get("on_event"):
                on_event("queued", {"task_id": task.id, "state": task.status, "note": note})
            if wait:
                return await self._followed(reader, task, timeout, **waiting)
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN if self.agent.stale else TAKEN):
                    self._apply(await reader.next(), task, waiting.get("on_event"))
        return task

    async def follow(
        self, task_id: str, *, timeout: float | None = None, **waiting: Unpack[Waiting]
    ) -> A2ATask:
        task = A2ATask(task_id)
        async with linked(self._member) as link, self._reader(link, task_id) as reader:
            found = await reader.catch_up()
            if found is not None:
                self._apply(found, task, waiting.get("on_event"))
            elif not reader.has_some:
                await self._look_up(link, task, waiting.get("on_event"))
            return await self._followed(reader, task, timeout, **waiting)

    async def _look_up(self, link: Link, task: A2ATask, on_event: OnEvent | None) -> None:
        """The task as the agent has it. One that sleeps, or has it in its mailbox, tells it later."""
        try:
            self._apply(
                await self._call(link, "GetTask", {"task": task.id}, ANSWER, again=True), task, on_event
            )
        except WaitTimeout:
            pass
        except Refused as refused:
            if refused.code != TaskNotFound.code:
                raise

    async def answer(self, task_id: str, text: str, question: str = "") -> None:
        """A human at an agent's terminal answers as a human, not as that agent."""
        signed = self._signed() if self._origin and self._origin.in_turn else {}
        body: Json = {"task": task_id, "answer": text, **signed}
        named = question or question_id(self._asked.get(task_id))
        async with linked(self._member) as link:
            await self._call(link, "AnswerQuestion", body | ({"question": named} if named else {}), ANSWER)

    async def get(self, task_id: str) -> A2ATask:
        async with linked(self._member) as link:
            found = await self._call(link, "GetTask", {"task": task_id}, ANSWER, again=True)
        return A2ATask.from_dict(found["task"])

    async def cancel(self, task_id: str) -> A2ATask:
        async with linked(self._member) as link:
            found = await self._call(link, "CancelTask", {"task": task_id}, 2 * ANSWER, again=True)
        return A2ATask.from_dict(found["task"])

    async def tasks(self) -> list[Json]:
        """Those that this machine sent, the last changed first."""
        async with linked(self._member) as link:
            found = (await self._call(link, "ListTasks", {}, ANSWER, again=True)).get("tasks")
        return [task for task in found if isinstance(task, dict)] if isinstance(found, list) else []

    def commands(self, task_id: str) -> Commands:
        short = f"{task_id[:8]}@{self.agent.machine}"
        return Commands(short, *(f"synapse {word} {short}" for word in ("task", "input", "cancel")))

    def _signed(self, **more: object) -> Json:
        sender: Json = {"sender": self._origin.sender} if self._origin else {}
        return sender | {key: value for key, value in more.items() if value}

    def _reader(self, link: Link, task_id: str) -> EventReader:
        async def snapshot() -> Json:
            return await self._call(link, "GetTask", {"task": task_id}, ANSWER, again=True)

        return EventReader(link, self.agent.machine, task_id, snapshot)

    async def _submit(self, link: Link, body: Json, priority: int, request_id: str, timeout: float) -> None:
        """Until it is in the mailbox. A priority above 1 does not wait behind others there."""
        kind = URGENT if priority > 1 else TASK
        me = self._member.machine
        subject = link.names.subject(kind, self.agent.machine, self.agent.key, me)
        try:
            await link.ready(timeout)
            payload = await packed(link, self.agent.machine, body)
            await link.publish_surely(
                subject, payload, f"{me}/{self.agent.key}/{request_id}", timeout,
                headers={OPERATION: "SendMessage"},
            )  # fmt: skip
        except MeshError as error:
            raise MeshError(f"the message to {self.name} was not sent: {error}") from error

    async def _call(
        self, link: Link, operation: str, body: Json, timeout: float, *, again: bool = False
    ) -> Json:
        """The answer of the agent's host. `again`: the call may be sent twice."""
        key = uuid.uuid4().hex
        subject = link.names.subject(CALL, self.agent.machine, self.agent.key, self._member.machine)
        async with EventReader(link, self.agent.machine, key) as reader:
            try:
                async with asyncio.timeout(timeout):
                    await link.ready(timeout)
                    payload = await packed(link, self.agent.machine, {**body, "key": key})
                    coming = asyncio.ensure_future(reader.next())
                    try:
                        while not coming.done():
                            await link.send(subject, payload, **stamped(**{OPERATION: operation}))
                            await asyncio.wait({coming}, timeout=AGAIN if again else None)
                        return self._accepted(coming.result())
                    finally:
                        coming.cancel()
            except TimeoutError:
                raise WaitTimeout(
                    f"{self.name} does not answer within {timeout:g} s: its machine may be asleep; "
                    "try again later."
                ) from None

    def _accepted(self, document: Json) -> Json:
        if isinstance(refused := document.get("refused"), dict):
            raise Refused(f"{self.name} refused: {refused.get('detail')}", str(refused.get("code", "")))
        return document

    async def _followed(
        self,
        reader: EventReader,
        task: A2ATask,
        timeout: float | None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        try:
            async with asyncio.timeout(timeout):
                while not task.ended:
                    if not task.asks or through_questions:
                        self._apply(await reader.next(), task, on_event)
                    elif await self._asks_now(reader, task, on_event):
                        break
        except TimeoutError:
            raise StillWorking.after(timeout or 0, self.name, task, self.commands(task.id).shows) from None
        return task

    async def _asks_now(self, reader: EventReader, task: A2ATask, on_event: OnEvent | None) -> bool:
        """The events begin with what was before: a question among them may have been answered since."""
        try:
            now = await reader.whole()
        except WaitTimeout:
            return True
        if A2ATask.from_dict(now["task"]).asks:
            return True
        task.status = "working"
        self._apply(now, task, on_event)
        return task.asks

    def _apply(self, document: Json, task: A2ATask, on_event: OnEvent | None) -> None:
        self._accepted(document)
        if isinstance(whole := document.get("task"), dict):
            told = A2ATask.from_dict(whole)
            task.receipts, task.created_at, task.context_id = told.receipts, told.created_at, told.context_id
            task.artifacts.clear()  # it has them all, and names them otherwise than the events do
            found = list(events_of(whole))
        else:
            found = [(str(document.get("event")), document.get("data") or {})]
        for event, data in found:
            task.context_id = task.context_id or str(data.get("contextId") or "")
            for kind, more in task.take(event, data):
                if on_event is not None:
                    on_event(kind, more)
        if task.asks and task.prompt:
            self._asked[task.id] = task.prompt
