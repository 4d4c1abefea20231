"""What a human types for other agents at this one's prompt: stored, sent, followed, and shown in the inbox.

A line that is taken is stored first. From then on it is sent once, whatever becomes of this process: the next
host goes on with it, and the reply is there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from synapse.agent_terminal import AgentTerminal
from synapse.config import InputRouting
from synapse.errors import NoSuchAgent, SynapseError, TargetError, WaitTimeout
from synapse.launch.starter import Starter
from synapse.messages import inbox as boxes
from synapse.messages.inbox import Action, Answer, HandOver, Inbox
from synapse.messages.pending import FOREVER, PendingMessage, PendingMessages
from synapse.peers.base import Peer
from synapse.peers.directory import Directory
from synapse.peers.prompts import GONE, is_secret, question, takes_nothing
from synapse.peers.task import A2ATask, Json
from synapse.registry import ALL, ALL_HERE
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import TaskError, text_message

logger = logging.getLogger(__name__)

NAMES_EVERY = 0.5  # seconds between two looks at who else is here
SHOWN_LIMIT = 100_000  # characters of a reply in the inbox; all of it is with its task
TOLD = 15.0  # seconds after which a host that takes over does not tell of an end again
HANDED_OVER = 3  # the priority of a reply that the human gives to this agent


class Messenger:
    """`changed` is called when the inbox has."""

    def __init__(
        self,
        controller: AgentTerminal,
        directory: Directory,
        pending: PendingMessages,
        engine: TaskEngine,
        inbox: Inbox,
        changed: Callable[[], None],
        starter: Starter,
    ) -> None:
        self._controller = controller
        self._directory = directory
        self._pending = pending
        self._engine = engine
        self._inbox = inbox
        self._changed = changed
        self._starter = starter
        self._peers: dict[str, Peer] = {}  # by the message that is being sent to it, or followed
        self._under_way: set[asyncio.Task[None]] = set()
        self._refused = 0
        self._names: list[str] | None = None
        self._routing: InputRouting
        self._later: Callable[[float, Callable[[], None]], object]

    def open(self, routing: InputRouting, later: Callable[[float, Callable[[], None]], object]) -> None:
        """Go on with what a host before this one has stored, and take what is typed from now on."""
        self._take_up()
        self._routing, self._later = routing, later
        self._tell_names()

    def _tell_names(self) -> None:
        """Who can be written to, whenever it has changed."""
        self._later(NAMES_EVERY, self._tell_names)
        if self._directory.changed() and (names := self._directory.names()) != self._names:
            self._names = names
            fields = ("enabled", "pattern", "passthrough_on_fail")
            routing = {field: getattr(self._routing, field) for field in fields}
            self._controller.take_commands(names, routing, self._command, self._refuse)

    def _take_up(self) -> None:
        for message in self._pending.load():
            self._show(message)
            if not message.ended:
                self._begin(self._carry(message))
            elif time.time() - message.ended_at > TOLD:
                self._inbox.seen(message.id)

    # --- from the human -----------------------------------------------------------------------------------

    def _command(self, command: Mapping[str, Any], answer: Callable[[str | None], None]) -> None:
        """A line of his: `answer(None)` once it is stored; with a reason, it stays where it is."""
        name = str(command["id"])
        if self._pending.get(name) is not None:
            answer(None)  # a relay that has had no answer asks again
            return
        try:
            messages = [m for m in self._addressed(name, command) if self._pending.get(m.id) is None]
            for message in messages:
                self._pending.save(message)
        except (SynapseError, OSError) as error:
            answer(str(error))
            self._refuse({"name": command["name"], "line": command["line"], "reason": str(error)})
            return
        answer(None)
        for message in messages:
            self._show(message)
            self._begin(self._carry(message))

    def _addressed(self, name: str, command: Mapping[str, Any]) -> list[PendingMessage]:
        """The command as messages to agents that there are."""
        base: Json = {
            "target": str(command["name"]),
            "message": str(command["message"]),
            "wait": bool(command["wait"]),
            "priority": int(command["priority"] or 1),
            "timeout": command["timeout"],
            "sent_at": time.time(),
        }
        if base["target"].casefold() in (ALL, ALL_HERE):
            # Each has an id of its own: asked again, none is left out.
            return [
                PendingMessage(**base | {"id": f"{name}.{place}", "target": peer.name}, address=peer.address)
                for peer in self._directory.everybody(base["target"])
                for place in [peer.address.partition(":")[2]]
            ]
        message = PendingMessage(id=name, **base)
        try:
            self._address(message)
        except NoSuchAgent:
            if message.target not in self._starter.names:
                raise
        return [message]

    def _address(self, message: PendingMessage) -> None:
        peer = self._directory.find(message.target)
        message.address, message.target = peer.address, peer.name

    def _refuse(self, refusal: Mapping[str, Any]) -> None:
        """A line that was meant for another agent and stays in the composer: why."""
        self._refused += 1
        name = f"refused-{self._refused}"
        self._inbox.sending(name, str(refusal["name"]), str(refusal["line"]))
        self._inbox.failed(name, str(refusal["reason"]))
        self._changed()

    def message_refused(self, sender: str, why: str) -> None:
        """A message to this agent was stopped: its human is told, once for as long as he can see it."""
        self._inbox.failed_to_come(f"loop/{sender}", sender, why)
        self._changed()

    def inbox_action(self, action: Action) -> None:
        """What he wants done with an entry of the inbox."""
        message = self._pending.get(action.entry) if isinstance(action, Answer | HandOver) else None
        if message is None:
            return
        if isinstance(action, Answer):
            self._begin(self._answer(message, action.text))
        elif isinstance(action, HandOver):
            self._hand_over(message)

    # --- to the other agent -------------------------------------------------------------------------------

    async def _carry(self, message: PendingMessage) -> None:
        try:
            if not message.address:
                await self._start(message)
            self._peers[message.id] = peer = self._peer(message)
            task = await self._send(peer, message)
        except SynapseError as error:  # a wait that is over among them
            self._end(message, failure=f"{error}{self._where(message, error)}")
        except Exception:
            logger.exception("a message to %s failed", message.target)
            self._end(message, failure="Synapse failed while it was sent: see its log. It may have arrived.")
        else:
            self._ended(message, task)
        finally:
            self._peers.pop(message.id, None)

    async def _start(self, message: PendingMessage) -> None:
        """Its agent, unless somebody else has meanwhile."""
        self._progress(message, boxes.SENDING, f"starting {message.target}")
        try:
            await self._starter.start(message.target)
        except SynapseError as error:
            try:
                self._address(message)
            except NoSuchAgent:
                raise error from None
        else:
            self._address(message)
        self._keep(message)

    async def _send(self, peer: Peer, message: PendingMessage) -> A2ATask:
        """The task when it has ended; if nobody waits for that, when the agent has it."""
        delivered = asyncio.Event()

        def on_event(kind: str, data: Json) -> None:
            self._on_event(message, kind, data)
            if kind == "delivered":
                delivered.set()

        patience = message.timeout or FOREVER
        if not message.task:
            self._check_first(peer, message)
            task = await peer.send(
                message.message,
                priority=message.priority,
                wait=message.wait,
                timeout=patience,
                on_event=on_event,
                through_questions=True,
                request_id=f"errand/{message.id}",  # agents that run now know earlier ones by this form
            )
            if message.wait or task.delivered:
                return task
        following = asyncio.ensure_future(
            peer.follow(message.task, timeout=patience, on_event=on_event, through_questions=True)
        )
        if not message.wait:
            arrived = asyncio.ensure_future(delivered.wait())
            await asyncio.wait({following, arrived}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                following.cancel()
                return A2ATask(message.task, "completed")
            arrived.cancel()
        return await following

    def _check_first(self, peer: Peer, message: PendingMessage) -> None:
        """What may have been sent by a host before this one is not sent again where it could arrive twice."""
        if peer.idempotent:
            return
        if message.begun:
            raise SynapseError("this was being sent when Synapse was interrupted: it may have arrived.")
        message.begun = True
        if not self._keep(message):
            raise SynapseError("it cannot be stored that this is being sent: it was not. Is the disk full?")

    def _on_event(self, message: PendingMessage, kind: str, data: Json) -> None:
        if kind in ("queued", "accepted") and not message.task:
            message.task, message.context = str(data["task_id"]), str(data.get("context_id", ""))
            self._keep(message)
        if kind == "queued" and data.get("note"):
            self._progress(message, boxes.SENDING, str(data["note"]))
        elif kind == "delivered":
            self._progress(message, boxes.DELIVERED)
        elif kind == "working":
            self._progress(message, boxes.WORKING, str(data.get("note") or ""))
        elif kind == "asks":
            prompt = data.get("prompt") or {}
            self._inbox.asks(message.id, question(prompt), is_secret(prompt), takes_nothing(prompt))
            self._changed()

    def _progress(self, message: PendingMessage, state: str, detail: str = "") -> None:
        self._inbox.progress(message.id, state, detail)
        self._changed()

    def _peer(self, message: PendingMessage) -> Peer:
        return self._directory.at(message.address, message.target)

    def _where(self, message: PendingMessage, error: SynapseError) -> str:
        """Where to look for a task that nobody follows any more, unless the error says it."""
        if not message.task or isinstance(error, TargetError | WaitTimeout):
            return ""
        return f" `{self._peer(message).commands(message.task).shows}` says what becomes of it."

    # --- what comes back ----------------------------------------------------------------------------------

    def _ended(self, message: PendingMessage, task: A2ATask) -> None:
        if task.status == "completed" or (not message.wait and not task.ended):
            self._end(message, reply=task.text)
        else:
            why = (task.error or {}).get("message") or task.note or "it gave no reason"
            self._end(message, reply=task.text, failure=f"{task.status}: {why}")

    def _end(self, message: PendingMessage, reply: str = "", failure: str = "") -> None:
        message.ended, message.reply, message.failure = True, reply, failure
        message.ended_at = time.time()
        self._keep(message)
        self._show_end(message)
        self._changed()

    def _keep(self, message: PendingMessage) -> bool:
        """A disk that takes no more costs what the next host would know, not the message."""
        try:
            self._pending.save(message)
            return True
        except OSError as error:
            logger.warning("what became of the message to %s cannot be kept: %s", message.target, error)
            return False

    def _show(self, message: PendingMessage) -> None:
        until = message.ended_at if message.ended else time.time()
        self._inbox.sending(message.id, message.target, message.message, max(until - message.sent_at, 0.0))
        if message.ended:
            self._show_end(message)
        self._changed()

    def _show_end(self, message: PendingMessage) -> None:
        if message.failure:
            said = f"{message.failure}\n\n{self._shown(message)}" if message.reply else message.failure
            self._inbox.failed(message.id, said)
        elif message.wait:
            self._inbox.reply(message.id, self._shown(message))
        else:
            self._inbox.delivered(message.id)

    def _shown(self, message: PendingMessage) -> str:
        if len(message.reply) <= SHOWN_LIMIT:
            return message.reply
        more = len(message.reply) - SHOWN_LIMIT
        where = (
            f"`{self._peer(message).commands(message.task).shows}` shows all of it." if message.task else ""
        )
        return f"{message.reply[:SHOWN_LIMIT]}\n\n… and {more} characters more. {where}"

    async def _answer(self, message: PendingMessage, text: str) -> None:
        peer = self._peers.get(message.id)
        try:
            if peer is None:
                raise SynapseError(GONE)
            await peer.answer(message.task, text)
        except SynapseError as error:
            self._not_taken(message, text, str(error))

    def _not_taken(self, message: PendingMessage, text: str, why: str) -> None:
        self._inbox.not_taken(message.id, text, why)
        self._changed()

    def _hand_over(self, message: PendingMessage) -> None:
        """The reply goes to the agent of this terminal, as a task like any other."""
        metadata = {"handed_over": message.id}
        try:
            self._engine.submit(
                text_message(message.reply),
                sender=self._peer(message).sender,
                priority=HANDED_OVER,
                metadata=metadata,
            )
        except (TaskError, NoSuchAgent) as error:
            self._inbox.failed_to_come(
                f"handed-over/{message.id}", message.target, f"not handed over: {error}"
            )
        self._changed()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a message to another agent failed", exc_info=error)
