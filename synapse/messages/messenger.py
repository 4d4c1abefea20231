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

from synapse.a2a_client import AsyncA2AClient
from synapse.agent_terminal import AgentTerminal
from synapse.config import InputRouting
from synapse.errors import NoSuchAgent, SynapseError, TargetError
from synapse.launch.starter import Starter
from synapse.messages import inbox as boxes
from synapse.messages.address_book import AddressBook
from synapse.messages.inbox import Action, Answer, HandOver, Inbox
from synapse.messages.pending import FOREVER, Errand, Errands
from synapse.messages.prompts import is_secret, question, takes_nothing
from synapse.messages.remote import ExternalErrand
from synapse.peers.task import A2ATask, Json
from synapse.registry import ALL, ALL_HERE, INPUT_REQUIRED, PROCESSING, Entry
from synapse.tasks.engine import TaskEngine
from synapse.tasks.shelf import last_known
from synapse.tasks.task import TaskError, text_message

logger = logging.getLogger(__name__)

NAMES_EVERY = 0.5  # seconds between two looks at who else is here
SHOWN_LIMIT = 100_000  # characters of a reply in the inbox; all of it is with its task
TOLD = 15.0  # seconds after which a host that takes over does not tell of an end again
HANDED_OVER = 3  # the priority of a reply that the human gives to this agent
WAITS = {PROCESSING: "it is busy", INPUT_REQUIRED: "it asks something"}  # by the status of the other


class Messenger:
    """`changed` is called when the inbox has."""

    def __init__(
        self,
        controller: AgentTerminal,
        client: AsyncA2AClient,
        book: AddressBook,
        errands: Errands,
        engine: TaskEngine,
        inbox: Inbox,
        changed: Callable[[], None],
        starter: Starter,
    ) -> None:
        self._controller = controller
        self._client = client
        self._book = book
        self._errands = errands
        self._engine = engine
        self._inbox = inbox
        self._changed = changed
        self._starter = starter
        self._elsewhere: dict[str, ExternalErrand] = {}
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
        if self._book.changed() and (names := self._book.names()) != self._names:
            self._names = names
            fields = ("enabled", "pattern", "passthrough_on_fail")
            routing = {field: getattr(self._routing, field) for field in fields}
            self._controller.take_commands(names, routing, self._command, self._refuse)

    def _take_up(self) -> None:
        for errand in self._errands.load():
            self._show(errand)
            if not errand.ended:
                self._begin(self._carry(errand))
            elif time.time() - errand.ended_at > TOLD:
                self._inbox.seen(errand.id)

    # --- from the human -----------------------------------------------------------------------------------

    def _command(self, command: Mapping[str, Any], answer: Callable[[str | None], None]) -> None:
        """A line of his: `answer(None)` once it is stored; with a reason, it stays where it is."""
        name = str(command["id"])
        if self._errands.get(name) is not None:
            answer(None)  # a relay that has had no answer asks again
            return
        try:
            errands = [e for e in self._addressed(name, command) if self._errands.get(e.id) is None]
            for errand in errands:
                self._errands.save(errand)
        except (SynapseError, OSError) as error:
            answer(str(error))
            self._refuse({"name": command["name"], "line": command["line"], "reason": str(error)})
            return
        answer(None)
        for errand in errands:
            self._show(errand)
            self._begin(self._carry(errand))

    def _addressed(self, name: str, command: Mapping[str, Any]) -> list[Errand]:
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
            everybody = self._book.everybody(base["target"])
            found = [(str(entry["agent_id"]), str(entry["name"])) for entry in everybody]
            # Each has an id of its own: asked again, none is left out.
            return [Errand(**base | {"id": f"{name}.{a}", "target": t, "agent": a}) for a, t in found]
        errand = Errand(id=name, **base)
        try:
            self._address(errand)
        except NoSuchAgent:
            if errand.target not in self._starter.names:
                raise
        return [errand]

    def _address(self, errand: Errand) -> None:
        found = self._book.find(errand.target)
        if isinstance(found, str):
            errand.alias = found
        else:
            errand.agent, errand.target = str(found["agent_id"]), str(found["name"])

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
        errand = self._errands.get(action.entry) if isinstance(action, Answer | HandOver) else None
        if errand is None:
            return
        if isinstance(action, Answer):
            self._begin(self._answer(errand, action.text))
        elif isinstance(action, HandOver):
            self._hand_over(errand)

    # --- to the other agent -------------------------------------------------------------------------------

    async def _carry(self, errand: Errand) -> None:
        try:
            if not errand.agent and not errand.alias:
                await self._start(errand)
            if errand.alias:
                task = await self._send_elsewhere(errand)
            else:
                task = await self._send_here(errand)
        except SynapseError as error:  # a wait that is over among them
            self._end(errand, failure=str(error))
        except Exception:
            logger.exception("a message to %s failed", errand.target)
            self._end(errand, failure="Synapse failed while it was sent: see its log. It may have arrived.")
        else:
            self._ended(errand, task)

    async def _start(self, errand: Errand) -> None:
        """Its agent, unless somebody else has meanwhile."""
        self._progress(errand, boxes.SENDING, f"starting {errand.target}")
        try:
            await self._starter.start(errand.target)
        except SynapseError as error:
            try:
                self._address(errand)
            except NoSuchAgent:
                raise error from None
        else:
            self._address(errand)
        self._keep(errand)

    async def _send_here(self, errand: Errand) -> A2ATask:
        try:
            return await self._send_to(self._entry(errand), errand)
        except TargetError:  # the agent has ended: its file has what became of the task
            task = await last_known(errand.task) if errand.task else None
            if task is None or not task.ended:
                raise
            return A2ATask.from_dict(task.to_dict())

    async def _send_to(self, entry: Entry, errand: Errand) -> A2ATask:
        if not errand.task:
            task = await self._client.send_to_local(
                entry, errand.message, errand.priority, request_id=f"errand/{errand.id}"
            )
            errand.task = task.id
            self._keep(errand)
            if why := task.note or WAITS.get(str(entry["status"]), ""):
                self._progress(errand, boxes.SENDING, why)
        delivered = asyncio.Event()
        following = asyncio.ensure_future(self._follow(entry, errand, delivered))
        if not errand.wait:
            arrived = asyncio.ensure_future(delivered.wait())
            await asyncio.wait({following, arrived}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                following.cancel()
                return A2ATask(errand.task, "completed")
            arrived.cancel()
        return await following

    async def _follow(self, entry: Entry, errand: Errand, delivered: asyncio.Event) -> A2ATask:
        def on_event(kind: str, data: Json) -> None:
            self._on_event(errand, kind, data)
            if kind == "delivered":
                delivered.set()

        patience = errand.timeout or FOREVER
        return await self._client.follow_local(entry, errand.task, patience, on_event, through_questions=True)

    async def _send_elsewhere(self, errand: Errand) -> A2ATask:
        def on_event(kind: str, data: Json) -> None:
            self._on_event(errand, kind, data)

        def not_taken(text: str, why: str) -> None:
            self._not_taken(errand, text, why)

        self._elsewhere[errand.id] = there = ExternalErrand(
            errand, self._client, self._keep, on_event, not_taken
        )
        try:
            return await there.carry()
        finally:
            del self._elsewhere[errand.id]

    def _on_event(self, errand: Errand, kind: str, data: Json) -> None:
        if kind == "queued" and data.get("note"):
            self._progress(errand, boxes.SENDING, str(data["note"]))
        elif kind == "delivered":
            self._progress(errand, boxes.DELIVERED)
        elif kind == "working":
            self._progress(errand, boxes.WORKING, str(data.get("note") or ""))
        elif kind == "asks":
            prompt = data.get("prompt") or {}
            self._inbox.asks(errand.id, question(prompt), is_secret(prompt), takes_nothing(prompt))
            self._changed()

    def _progress(self, errand: Errand, state: str, detail: str = "") -> None:
        self._inbox.progress(errand.id, state, detail)
        self._changed()

    def _entry(self, errand: Errand) -> Entry:
        for entry in self._book.others():
            if entry["agent_id"] == errand.agent:
                return entry
        raise TargetError(f"{errand.target} has ended: see `synapse logs {errand.target}`.")

    # --- what comes back ----------------------------------------------------------------------------------

    def _ended(self, errand: Errand, task: A2ATask) -> None:
        if task.status == "completed" or (not errand.wait and not task.ended):
            self._end(errand, reply=task.text)
        else:
            why = (task.error or {}).get("message") or task.note or "it gave no reason"
            self._end(errand, reply=task.text, failure=f"{task.status}: {why}")

    def _end(self, errand: Errand, reply: str = "", failure: str = "") -> None:
        errand.ended, errand.reply, errand.failure = True, reply, failure
        errand.ended_at = time.time()
        self._keep(errand)
        self._show_end(errand)
        self._changed()

    def _keep(self, errand: Errand) -> bool:
        """A disk that takes no more costs what the next host would know, not the message."""
        try:
            self._errands.save(errand)
            return True
        except OSError as error:
            logger.warning("what became of the message to %s cannot be kept: %s", errand.target, error)
            return False

    def _show(self, errand: Errand) -> None:
        until = errand.ended_at if errand.ended else time.time()
        self._inbox.sending(errand.id, errand.target, errand.message, max(until - errand.sent_at, 0.0))
        if errand.ended:
            self._show_end(errand)
        self._changed()

    def _show_end(self, errand: Errand) -> None:
        if errand.failure:
            said = f"{errand.failure}\n\n{_shown(errand)}" if errand.reply else errand.failure
            self._inbox.failed(errand.id, said)
        elif errand.wait:
            self._inbox.reply(errand.id, _shown(errand))
        else:
            self._inbox.delivered(errand.id)

    async def _answer(self, errand: Errand, text: str) -> None:
        if there := self._elsewhere.get(errand.id):
            there.answer(text)
            return
        try:
            await self._client.answer_local(self._entry(errand), errand.task, text)
        except SynapseError as error:
            self._not_taken(errand, text, str(error))

    def _not_taken(self, errand: Errand, text: str, why: str) -> None:
        self._inbox.not_taken(errand.id, text, why)
        self._changed()

    def _hand_over(self, errand: Errand) -> None:
        """The reply goes to the agent of this terminal, as a task like any other."""
        metadata = {"handed_over": errand.id}
        sender = {"id": errand.agent, "name": errand.target} if errand.agent else {"name": errand.target}
        try:
            self._engine.submit(
                text_message(errand.reply), sender=sender, priority=HANDED_OVER, metadata=metadata
            )
        except TaskError as error:
            self._inbox.failed_to_come(f"handed-over/{errand.id}", errand.target, f"not handed over: {error}")
        self._changed()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a message to another agent failed", exc_info=error)


def _shown(errand: Errand) -> str:
    if len(errand.reply) <= SHOWN_LIMIT:
        return errand.reply
    more = len(errand.reply) - SHOWN_LIMIT
    command = f"external task {errand.alias} {errand.task}" if errand.alias else f"task {errand.task[:8]}"
    where = f"`synapse {command}` shows all of it." if errand.task else ""
    return f"{errand.reply[:SHOWN_LIMIT]}\n\n… and {more} characters more. {where}"
