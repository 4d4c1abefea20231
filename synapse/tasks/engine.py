"""The task engine: accepts tasks, keeps them in order, and reports their events.

It does not know terminals or HTTP. A courier carries the tasks to the agent one at a time: it asks for the
next one, and reports what happens. Each event is stored, then sent to the subscribers.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from synapse.base.states import CANCELED, COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from synapse.event_emitter import KEEP, KEEPALIVE, EventEmitterRegistry, Lagged, SSEEvent
from synapse.tasks.conversation import Conversations
from synapse.tasks.loop_guard import LoopGuard
from synapse.tasks.store import TaskStore
from synapse.tasks.task import (
    QUESTION,
    REPLY,
    AgentGone,
    BadMessage,
    Json,
    LoopRefused,
    NotCancelable,
    OverBudget,
    QueueFull,
    StoreFailed,
    Task,
    TaskNotFound,
    TooLarge,
    WrongState,
    check_part,
    measured,
    mended,
    message_size,
    message_text,
    sender_id,
    text_message,
)

logger = logging.getLogger(__name__)

PRIORITIES = range(1, 6)
URGENT = 5
CANCELED_EARLY = "canceled before it was the agent's turn"


@dataclass(frozen=True)
class Limits:
    queue: int = 100  # tasks that wait
    message: int = 1_000_000  # bytes of text
    events: int = KEEP  # that wait for a slow listener


class Courier(Protocol):
    """Carries tasks to the agent."""

    def wake(self) -> None:
        """The queue or the running task has changed."""

    async def answer(self, task: Task, text: str, by: Json | None, question: str = "") -> None:
        """Answer what the agent asks, if it is the question with this id or none is named. Raises TaskError
        if that is not possible."""


class NoCourier:
    """The courier of an engine that has no other yet."""

    def wake(self) -> None: ...

    async def answer(self, task: Task, text: str, by: Json | None, question: str = "") -> None:
        raise WrongState("the agent cannot be reached yet: try again in a moment.")


@dataclass(eq=False, repr=False)
class TaskEngine:
    """`refusing` is the reason why no task is accepted, if any. `guard` refuses messages that agents send in
    a loop, and `on_refused` gets sender and reason. `on_queued`: a new task is in the queue."""

    store: TaskStore
    limits: Limits = Limits()
    refusing: str = ""
    guard: LoopGuard | None = None
    conversations: Conversations | None = None
    on_refused: Callable[[str, str], None] = lambda sender, why: None
    on_queued: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self.emitters = EventEmitterRegistry(self.limits.events)
        self.courier: Courier = NoCourier()
        self.running: Task | None = None  # the task that the agent works on
        self._waiting: list[Task] = []
        self._has_ended = False
        self.store.on_event(self._tell)

    def submit(
        self,
        message: Json,
        *,
        sender: Json | None = None,
        priority: int = 1,
        context_id: str | None = None,
        metadata: Json | None = None,
        request_id: str | None = None,
        task_id: str | None = None,
        expires: float | None = None,
    ) -> Task:
        """The task is stored and in the queue when this returns. It fails if the agent does not get it within
        `expires` seconds. Some senders know the `task_id` in advance."""
        if request_id and (known := self.store.find_request(request_id)):
            return known
        if self._has_ended:
            raise AgentGone("the agent has ended and takes no more tasks: start it again, then send again.")
        if self.refusing:
            raise StoreFailed(f"no task can be stored: {self.refusing}.")
        message = self._checked(message)
        if priority not in PRIORITIES:
            raise BadMessage(f"priority is {priority}: it goes from 1 to 5, and 5 interrupts.")
        self._check_loop(metadata, message, sender)
        self._check_budget(metadata, message, sender, context_id)
        if (count := len(self._waiting)) >= self.limits.queue:
            raise QueueFull(f"{count} tasks wait already: send again when some are done (limits.queue).")
        self._check_size(measured(metadata or {}))
        task = self.store.create(
            message,
            task_id=task_id,
            context_id=context_id,
            priority=priority,
            sender=sender,
            metadata=mended(metadata or {}),
            request_id=request_id,
            expires=expires,
        )
        ahead = sum(1 for other in self._waiting if other.priority >= task.priority)
        self.store.add_receipt(task, "queued", ahead=ahead)
        self._enqueue(task)
        self.on_queued()
        return task

    async def follow_up(
        self, task_id: str, message: Json, *, sender: Json | None = None, context_id: str | None = None
    ) -> Task:
        """A message to a task: the answer to its question, or more work."""
        task = self.store.get(task_id)
        if context_id is not None and context_id != task.context_id:
            raise BadMessage(f"task {task.id} belongs to another context, {task.context_id}.")
        if task.ended:
            raise WrongState(f"task {task.id} is {task.state}: send a new one.")
        answers = task.state == INPUT_REQUIRED and self._is_with_agent(task)
        message = self._checked(message, is_answer=answers)
        if answers:
            metadata = message.get("metadata")
            question = metadata.get(QUESTION) if isinstance(metadata, dict) else None
            await self.courier.answer(task, message_text(message), sender, str(question or ""))
            return task
        if task.state == INPUT_REQUIRED and (task.prompt or {}).get("type") == "password":
            raise WrongState(f"task {task.id} asked for a secret, and no longer does: cancel it.")
        self._check_loop(None, message, sender)
        if len(task.pending) >= self.limits.queue:
            count = len(task.pending)
            raise QueueFull(f"{count} messages to task {task.id} wait already: send it later (limits.queue).")
        task.pending.append({**message, "sender": sender} if sender else message)
        task.history.append(message)
        if task.state == INPUT_REQUIRED:
            self.store.update_status(task.id, WORKING)
        else:
            self.store.save(task)
        self._enqueue(task)
        return task

    async def answer(self, task_id: str, text: str, by: Json | None = None) -> Task:
        task = self.store.get(task_id)
        if task.state != INPUT_REQUIRED:
            raise WrongState(f"task {task.id} is {task.state}: it does not wait for input.")
        if not self._is_with_agent(task):
            return await self.follow_up(task_id, text_message(text), sender=by)
        self.check_size(text)
        await self.courier.answer(task, mended(text), by)
        return task

    async def cancel(self, task_id: str, patience: float = 10.0) -> Task:
        """Remove it from the queue, or interrupt it. After `patience` seconds it may still work."""
        task = self.store.get(task_id)
        if task.ended:
            raise NotCancelable(f"task {task.id} is {task.state} already.")
        if not self._is_with_agent(task):
            self._forget(task)
            parked = task.state == INPUT_REQUIRED
            note = "canceled while it waited for input" if parked else CANCELED_EARLY
            return self.store.update_status(task.id, CANCELED, note=note)
        task.cancel_wanted = True
        self.store.save(task)
        self.courier.wake()
        return await self.wait(task.id, until=lambda t: t.ended, timeout=patience)

    async def wait(
        self, task_id: str, until: Callable[[Task], bool] | None = None, timeout: float | None = None
    ) -> Task:
        """Wait until the task has ended or asks something, or `until` holds, or the time is up."""
        task = self.store.get(task_id)
        arrived = until or (lambda t: t.ended or t.state == INPUT_REQUIRED)
        if arrived(task) or task.ended:
            return task
        events = self.emitters.get_or_create(task.id).subscribe()
        try:
            async with asyncio.timeout(timeout):
                async for _ in events:
                    if arrived(task):
                        break
        except (TimeoutError, Lagged):
            pass
        finally:
            await events.aclose()
        return task

    def subscribe(
        self, task_id: str, keepalive: float = KEEPALIVE
    ) -> tuple[Task, AsyncGenerator[SSEEvent, None] | None]:
        """The task, and its events from now on; None if it has ended."""
        task = self.store.get(task_id)
        if task.ended:
            return task, None
        return task, self.emitters.get_or_create(task.id).subscribe(keepalive)

    def find(self, task_id: str) -> Task:
        try:
            return self.store.get(task_id)
        except TaskNotFound:
            found = [t for t in self.store.live() if len(task_id) >= 6 and t.id.startswith(task_id)]
            if len(found) != 1:
                raise
            return found[0]

    @property
    def waiting(self) -> list[Task]:
        return sorted(self._waiting, key=lambda task: (-task.priority, task.arrival))

    def first(self) -> Task | None:
        return next(iter(self.waiting), None)

    def start(self, task: Task) -> Json:
        self._waiting.remove(task)
        self.running = task
        self.store.set_note(task, "")  # it waits for nothing any more
        return task.pending[0]

    def put_back(self, task: Task) -> None:
        """The message could not be typed: the task keeps its place in the queue."""
        self.running = None
        if not task.ended:
            self._waiting.append(task)
            if _was_typed(task):
                self.store.add_receipt(task, "put_back")

    def given(self, task: Task) -> None:
        if not task.at_work:  # else an earlier host has noted it, and the pending messages came later
            del task.pending[:1]
        task.at_work = True
        self.store.update_status(task.id, WORKING)

    def take_up(self) -> list[Task]:
        """After a restart: restore the queue, and return the tasks that the agent may have got."""
        begun = []
        for task in self.store.take_over():
            if task.at_work or _was_typed(task):
                begun.append(task)
            elif task.cancel_wanted:
                self.canceled(task, CANCELED_EARLY)
            elif task.state != INPUT_REQUIRED and task not in self._waiting:
                self._waiting.append(task)  # a task that asks waits for a message
        return begun

    def progress(self, task: Task, text: str, append: bool) -> None:
        self.store.add_artifact(task.id, reply_artifact(mended(text), "partial"), append, last=False)

    def asks(self, task: Task, prompt: Json) -> None:
        self.store.set_input_required(task.id, mended(prompt))

    def finish(
        self,
        task: Task,
        reply: str,
        source: str | None,
        derived: Iterable[Json] = (),
        confidence: float = 1.0,
    ) -> None:
        """The turn has ended with this reply. The task ends too, unless more messages wait."""
        if task.ended:
            return
        reply = mended(reply)
        task.history.append(text_message(reply, "agent"))
        task.at_work = False
        self.store.add_artifact(task.id, reply_artifact(reply, source or "screen", confidence))
        if task.pending and not task.cancel_wanted:
            self._release(task)
            self.store.save(task)
            self._enqueue(task)
            return
        for artifact in derived:
            self.store.add_artifact(task.id, mended(artifact))
        self._end(task, COMPLETED)

    def fail(self, task: Task, error: Json) -> None:
        self._end(task, FAILED, error=mended(error))

    def canceled(self, task: Task, why: str) -> None:
        self._end(task, CANCELED, note=why)

    def denied(self, task: Task, subject: str, evidence: str) -> None:
        self.store.add_receipt(task, "denied", evidence=evidence)
        why = f"the human denied: {mended(subject)}" if subject else "the human denied what it asked for"
        self._end(task, CANCELED, error={"code": "DENIED", "message": why}, note=why)

    def end(self, error: Json) -> None:
        """The agent has ended: accept no more tasks, and fail all, also those that an earlier host left."""
        self._has_ended = True
        if not self.store.taken_over:
            self.take_up()
        self._waiting.clear()
        for task in self.store.live():
            self.fail(task, error)

    def _end(self, task: Task, state: str, error: Json | None = None, note: str = "") -> None:
        self._forget(task)
        self._release(task)
        task.at_work = False
        self.store.update_status(task.id, state, error=error, note=note)

    def _release(self, task: Task) -> None:
        if self.running is task:
            self.running = None
        self.courier.wake()

    def _forget(self, task: Task) -> None:
        if task in self._waiting:
            self._waiting.remove(task)

    def _enqueue(self, task: Task) -> None:
        if task not in self._waiting and task is not self.running and not task.ended:
            self._waiting.append(task)
        self.courier.wake()

    def _is_with_agent(self, task: Task) -> bool:
        """Also after a restart, before the courier has continued with it."""
        return task is self.running or task.at_work or _was_typed(task)

    def _checked(self, message: Json, is_answer: bool = False) -> Json:
        """The message, if it is valid. Only an answer may be empty."""
        parts = message.get("parts")
        if not isinstance(parts, list) or not parts:
            raise BadMessage("the message has no parts: send at least one of text.")
        for part in parts:
            check_part(part)
        self._check_size(message_size(message))
        self._check_size(measured({key: value for key, value in message.items() if key != "parts"}))
        fixed: Json = mended(message)
        visible = any(c.isprintable() and not c.isspace() for c in message_text(fixed))
        if not visible and not is_answer:
            raise BadMessage("the message is empty: say something.")
        return fixed

    def _check_loop(self, metadata: Json | None, message: Json, sender: Json | None) -> None:
        found = self.guard.check(metadata, message.get("metadata")) if self.guard is not None else None
        if found is not None:
            logger.warning("a message was refused: %s", found.sentence)
            self.on_refused(sender_id(sender), found.sentence)
            raise LoopRefused(found.sentence, found.too_often)

    def _check_budget(
        self, metadata: Json | None, message: Json, sender: Json | None, context_id: str | None
    ) -> None:
        said = (metadata, message.get("metadata"))
        if self.conversations is not None and (why := self.conversations.objection(context_id, *said)):
            self.on_refused(sender_id(sender), why)
            raise OverBudget(why)

    def check_size(self, text: str) -> None:
        """Raises TooLarge for a text that is larger than a message may be."""
        self._check_size(measured(text))

    def _check_size(self, size: int) -> None:
        if size > (limit := self.limits.message):
            raise TooLarge(
                f"the message has {size} bytes, more than the {limit} that are taken (limits.message)."
            )

    def _tell(self, task: Task, event: SSEEvent) -> None:
        emitter = self.emitters.get(task.id)
        if emitter is not None:
            emitter.emit(event)
            if task.ended:
                self.emitters.remove(task.id)


def reply_artifact(text: str, source: str, confidence: float = 1.0) -> Json:
    """`confidence` is below 1 if the reply was read from the screen."""
    return {
        "artifact_id": REPLY,
        "type": "text",
        "name": "output",
        "parts": [{"type": "text", "text": text}],
        "metadata": {"source": source} | ({"confidence": confidence} if confidence < 1 else {}),
    }


def derived_artifact(piece: Json, number: int) -> Json:
    """A piece of the reply; clients that read the text have it already."""
    metadata: dict[str, Any] = {**piece.get("metadata", {}), "derived": True}
    return {**piece, "artifact_id": f"{REPLY}-{number}", "metadata": metadata}


def _was_typed(task: Task) -> bool:
    """Whether its next message may have reached the agent's terminal."""
    for receipt in reversed(task.receipts):
        if receipt["step"] in ("typing", "submitted", "confirmed"):
            return True
        if receipt["step"] in ("queued", "refused", "put_back", "replied", "parked"):
            return False
    return False
