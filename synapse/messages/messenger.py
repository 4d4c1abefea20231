"""Sends the lines that a human types for other agents, and shows the replies in the inbox.

A line is stored before it is accepted. It is then sent once, even if this process dies: the next host
continues with it.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from synapse.agent_terminal import AgentTerminal
from synapse.base import checkpoints
from synapse.config import InputRouting
from synapse.errors import NoSuchAgent, SynapseError, TargetError, WaitTimeout
from synapse.launch.starter import Starter
from synapse.messages import inbox as boxes
from synapse.messages.inbox import Action, Answer, HandOver, Inbox
from synapse.messages.pending import FOREVER, PendingMessage, PendingMessages
from synapse.peers.base import Peer
from synapse.peers.directory import Directory
from synapse.peers.prompts import GONE, is_secret, question, question_id, subject, takes_nothing, unseen
from synapse.peers.task import A2ATask, Json, StillWorking
from synapse.registry import is_group
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import TaskError, text_message

logger = logging.getLogger(__name__)

NAMES_EVERY = 0.5  # seconds between two reads of the directory
SHOWN_LIMIT = 100_000  # characters of a reply in the inbox; its task has all of it
TOLD = 15.0  # seconds after which a new host shows no toast for a reply again
HANDED_OVER = 3  # the priority of a reply that the human gives to this agent


@dataclass(eq=False, repr=False)
class Messenger:
    """`changed` is called when the inbox has changed; `later` is the loop's call_later."""

    controller: AgentTerminal
    directory: Directory
    pending: PendingMessages
    engine: TaskEngine
    inbox: Inbox
    changed: Callable[[], None]
    starter: Starter
    routing: InputRouting
    later: Callable[[float, Callable[[], None]], object]

    def __post_init__(self) -> None:
        self._peers: dict[str, Peer] = {}  # by the message that is being sent to it, or followed
        self._under_way: set[asyncio.Task[None]] = set()
        self._refused = 0
        self._names: list[str] | None = None

    def open(self) -> None:
        """Continue with the messages that an earlier host has stored, and accept new lines."""
        for message in self.pending.load():
            self._show(message)
            if not message.ended:
                self._begin(self._carry(message))
            elif time.time() - message.ended_at > TOLD:
                self.inbox.seen(message.id)
        self._tell_names()

    def _tell_names(self) -> None:
        """Tell the relay which agents there are, whenever that has changed."""
        self.later(NAMES_EVERY, self._tell_names)
        if self.directory.changed() and (names := self.directory.names()) != self._names:
            self._names = names
            fields = ("enabled", "pattern", "passthrough_on_fail")
            routing = {field: getattr(self.routing, field) for field in fields}
            self.controller.take_commands(names, routing, self._command, self._refuse)

    def _command(self, command: Mapping[str, Any], answer: Callable[[str | None], None]) -> None:
        """Calls `answer(None)` once the line is stored, else `answer(reason)`, and the line stays."""
        name = str(command["id"])
        if self.pending.get(name) is not None:
            answer(None)  # a relay that got no answer sends it again
            return
        try:
            messages = [m for m in self._addressed(name, command) if self.pending.get(m.id) is None]
            for message in messages:
                self.pending.save(message)
        except (SynapseError, OSError) as error:
            answer(str(error))
            self._refuse({"name": command["name"], "line": command["line"], "reason": str(error)})
            return
        checkpoints.reached("line stored", line=command["line"])
        answer(None)
        for message in messages:
            self._show(message)
            self._begin(self._carry(message))

    def _addressed(self, name: str, command: Mapping[str, Any]) -> list[PendingMessage]:
        base: Json = {
            "target": str(command["name"]),
            "message": str(command["message"]),
            "wait": bool(command["wait"]),
            "priority": int(command["priority"] or 1),
            "timeout": command["timeout"],
            "expires": command.get("expires"),
            "sent_at": time.time(),
        }
        if is_group(base["target"]):
            # One id for each, so that a command sent again reaches those that were missed.
            return [
                PendingMessage(**base | {"id": f"{name}.{place}", "target": peer.name}, address=peer.address)
                for peer in self.directory.everybody(base["target"])
                for place in [_place(peer)]
            ]
        message = PendingMessage(id=name, **base)
        try:
            self._address(message)
        except NoSuchAgent:
            if message.target not in self.starter.names:
                raise
        return [message]

    def _address(self, message: PendingMessage) -> None:
        peer = self.directory.find(message.target)
        message.address, message.target = peer.address, peer.name

    def _refuse(self, refusal: Mapping[str, Any]) -> None:
        self._refused += 1
        name = f"refused-{self._refused}"
        self.inbox.sending(name, str(refusal["name"]), str(refusal["line"]))
        self.inbox.failed(name, str(refusal["reason"]))
        self.changed()

    def message_refused(self, sender: str, why: str) -> None:
        """Tell the human that a message to this agent was refused; one entry for each sender."""
        self.inbox.failed_to_come(f"loop/{sender}", sender, why)
        self.changed()

    def inbox_action(self, action: Action) -> None:
        message = self.pending.get(action.entry) if isinstance(action, Answer | HandOver) else None
        if message is not None and isinstance(action, Answer):
            self._begin(self._answer(message, action))
        elif message is not None:
            self._hand_over(message)

    async def _carry(self, message: PendingMessage) -> None:
        try:
            if not message.address:
                await self._start(message)
            self._peers[message.id] = peer = self._peer(message)
            try:
                task = await self._send(peer, message)
            except StillWorking:
                if not message.task:
                    raise  # the agent may not have it
                message.late, message.timeout = True, None
                self._keep(message)
                self._show_late(message)
                task = await self._send(peer, message)
        except SynapseError as error:  # WaitTimeout is one
            self._end(message, failure=f"{error}{self._where(message, error)}")
        except Exception:
            logger.exception("a message to %s failed", message.target)
            self._end(message, failure="Synapse failed while it was sent: see its log. It may have arrived.")
        else:
            why, outcome = "", boxes.FAILED
            if task.status != "completed" and (message.wait or task.ended):
                told = task.error or {}
                why = told.get("message") or task.note or "it gave no reason"
                if task.status == "canceled":
                    outcome = "denied" if told.get("code") == "DENIED" else "canceled"
                else:
                    why = f"{task.status}: {why}"
            self._end(message, reply=task.text, failure=why, outcome=outcome)
        finally:
            self._peers.pop(message.id, None)

    async def _start(self, message: PendingMessage) -> None:
        self._progress(message, boxes.SENDING, f"starting {message.target}")
        try:
            await self.starter.start(message.target)
        except SynapseError as error:
            try:
                self._address(message)
            except NoSuchAgent:
                raise error from None
        else:
            self._address(message)
        self._keep(message)

    async def _send(self, peer: Peer, message: PendingMessage) -> A2ATask:
        """Returns when the task has ended, or without `wait` when the agent has it."""
        delivered = asyncio.Event()

        def on_event(kind: str, data: Json) -> None:
            self._on_event(message, kind, data)
            if kind == "delivered":
                delivered.set()

        options: Json = {
            "timeout": message.timeout or FOREVER,
            "on_event": on_event,
            "through_questions": True,
        }
        if not message.task:
            self._check_first(peer, message)
            task = await peer.send(
                message.message,
                priority=message.priority,
                wait=message.wait,
                request_id=f"message/{message.id}",
                expires=self._expires_in(message),
                **options,
            )
            if message.wait or task.delivered:
                return task
        following = asyncio.ensure_future(peer.follow(message.task, **options))
        if message.wait:
            return await following
        arrived = asyncio.ensure_future(delivered.wait())
        await asyncio.wait({following, arrived}, return_when=asyncio.FIRST_COMPLETED)
        arrived.cancel()
        if following.done():
            return following.result()
        following.cancel()
        return A2ATask(message.task, "completed")

    def _expires_in(self, message: PendingMessage) -> float | None:
        """The seconds that are left of its expiry: an agent may have been started first."""
        if message.expires is None:
            return None
        left = message.sent_at + message.expires - time.time()
        if left <= 0:
            raise SynapseError(f"it expired after {message.expires:g} s, before it was sent: send it again.")
        return left

    def _check_first(self, peer: Peer, message: PendingMessage) -> None:
        """Do not send again what an earlier host may have sent, if it could arrive twice."""
        if peer.idempotent:
            return
        if message.begun:
            raise SynapseError("this was being sent when Synapse was interrupted: it may have arrived.")
        message.begun = True
        if not self._keep(message):
            raise SynapseError("it was not sent, because that cannot be stored first: is the disk full?")

    def _on_event(self, message: PendingMessage, kind: str, data: Json) -> None:
        if kind in ("queued", "accepted") and not message.task:
            message.task, message.context = str(data["task_id"]), str(data.get("context_id", ""))
            self._keep(message)
            self.inbox.sent(message.id)
            self.changed()
        note = str(data.get("note") or "")
        if kind == "asks":
            prompt = data.get("prompt") or {}
            self.inbox.asks(
                message.id,
                question(prompt),
                secret=is_secret(prompt),
                may_be_empty=takes_nothing(prompt),
                subject=subject(prompt),
                in_words=bool(unseen(prompt)),
                question=question_id(prompt),
            )
            self.changed()
        elif kind == "delivered":
            self._progress(message, boxes.DELIVERED)
        elif kind == "unreachable":
            self._progress(message, boxes.WORKING if message.task else boxes.SENDING, note)
        elif kind in ("working", "queued"):
            self._progress(message, boxes.WORKING if kind == "working" else boxes.SENDING, note)

    def _progress(self, message: PendingMessage, state: str, detail: str = "") -> None:
        self.inbox.progress(message.id, state, detail)
        self.changed()

    def _peer(self, message: PendingMessage) -> Peer:
        return self.directory.at(message.address, message.target)

    def _where(self, message: PendingMessage, error: SynapseError) -> str:
        if not message.task or isinstance(error, TargetError | WaitTimeout):
            return ""
        return f" `{self._shows(message)}` says what becomes of it."

    def _end(
        self, message: PendingMessage, reply: str = "", failure: str = "", outcome: str = boxes.FAILED
    ) -> None:
        message.ended, message.reply, message.failure, message.outcome = True, reply, failure, outcome
        message.ended_at = time.time()
        self._keep(message)
        self._show_end(message)
        self.changed()

    def _keep(self, message: PendingMessage) -> bool:
        """Whether it is stored. A full disk costs only what the next host would know."""
        try:
            self.pending.save(message)
            return True
        except OSError as error:
            logger.warning("the state of the message to %s cannot be stored: %s", message.target, error)
            return False

    def _show(self, message: PendingMessage) -> None:
        until = message.ended_at if message.ended else time.time()
        self.inbox.sending(message.id, message.target, message.message, max(until - message.sent_at, 0.0))
        if message.ended:
            self._show_end(message)
        elif message.late:
            self._show_late(message)
        self.changed()

    def _show_late(self, message: PendingMessage) -> None:
        shows = self._shows(message)
        how = f"the reply comes here; `{shows}` shows it too" if message.wait else f"`{shows}` shows it"
        self.inbox.late(message.id, how)
        self.changed()

    def _show_end(self, message: PendingMessage) -> None:
        if message.failure:
            said = f"{message.failure}\n\n{self._shown(message)}" if message.reply else message.failure
            self.inbox.failed(message.id, said, message.outcome)
        elif message.wait:
            self.inbox.reply(message.id, self._shown(message))
        else:
            self.inbox.delivered(message.id)

    def _shown(self, message: PendingMessage) -> str:
        if len(message.reply) <= SHOWN_LIMIT:
            return message.reply
        where = f"`{self._shows(message)}` shows all of it." if message.task else ""
        more = len(message.reply) - SHOWN_LIMIT
        return f"{message.reply[:SHOWN_LIMIT]}\n\n… and {more} characters more. {where}"

    def _shows(self, message: PendingMessage) -> str:
        return self._peer(message).commands(message.task).shows

    async def _answer(self, message: PendingMessage, answer: Answer) -> None:
        peer = self._peers.get(message.id)
        try:
            if peer is None:
                raise SynapseError(GONE)
            await peer.answer(message.task, answer.text, answer.question)
        except SynapseError as error:
            self.inbox.not_taken(message.id, answer.text, str(error))
            self.changed()

    def _hand_over(self, message: PendingMessage) -> None:
        try:
            self.engine.submit(
                text_message(message.reply),
                sender=self._peer(message).sender,
                priority=HANDED_OVER,
                metadata={"handed_over": message.id},
            )
        except (TaskError, NoSuchAgent) as error:
            name = f"handed-over/{message.id}"
            self.inbox.failed_to_come(name, message.target, f"not handed over: {error}")
        self.changed()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a message to another agent failed", exc_info=error)


def _place(peer: Peer) -> str:
    """The peer's place as a part of a file name."""
    place = peer.address.partition(":")[2]
    return place if place.isalnum() else hashlib.sha256(place.encode()).hexdigest()[:32]
