"""Carries tasks to the agent, one at a time, and what it says back: the gate, the typing, the proof, the end.

A message is typed only when the agent is READY, asks nothing, and no human is in the middle of a line. The
relay types it as one piece, or refuses because something has happened meanwhile. The turn that then begins
with the message's mark is the task's turn, and its reply the task's reply. What is typed once is never typed
again: an Enter that was swallowed is, where nothing shows that the turn has begun.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import time
from collections.abc import Callable

from synapse.agent_terminal import AgentTerminal
from synapse.delivery import composer
from synapse.delivery.draft_stash import PATIENCE, DraftStash
from synapse.delivery.questions import Questions
from synapse.delivery.typist import Typist
from synapse.output_parser import OutputParser
from synapse.profiles.loader import clear_bytes
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.relay.injector import DONE, STUCK
from synapse.tasks.engine import URGENT, TaskEngine, derived_artifact
from synapse.tasks.files import keep_files, keep_text
from synapse.tasks.task import Json, Task, message_text, sender_id
from synapse.watch.turns import SCREEN, Turn

logger = logging.getLogger(__name__)

QUIET = 1.0  # seconds since a human's last key
STARTING = 15.0  # seconds in which a CLI switches its terminal modes on
CONFIRM = 2.0  # seconds in which a turn must begin before Enter is pressed again
CONFIRM_BUSY = 20.0  # the same, when the agent is at work but does not say on what
ENTERS = 4
OPEN_AGAIN = 1.0  # seconds until a disk that did not tell is asked again
COALESCE = 0.1  # seconds between two pieces of a reply under way
LOOK_EVERY = 0.5  # the same where it is read off the screen


class Delivery:
    """The courier of one agent. `typed` names the injections that a host before this one had carried out."""

    def __init__(
        self,
        controller: AgentTerminal,
        engine: TaskEngine,
        folder: str,
        typed: frozenset[str] = frozenset(),
        is_agent: Callable[[Json], bool] = lambda _: True,
        clock: Callable[[], float] = time.monotonic,
        run: str = "",
        draft_patience: float = PATIENCE,
    ) -> None:
        self._controller = controller
        self._engine = engine
        self._store = engine.store
        self._folder = folder
        self._typed = typed
        self._clock = clock
        self._began = clock()
        self._news = asyncio.Event()
        self._mark = ""  # of the task under way
        self._turn: Turn | None = None  # the turn that began with it
        self._length = 0  # of what was typed
        self._sent = ""  # of its reply
        self._sent_at = 0.0
        self._interrupted = ""  # why its turn was
        self._begun: list[Task] = []  # by a host before this one
        self._typist = Typist(controller, self._pause, clock)
        path = os.path.join(folder, "draft.json")
        self._stash = DraftStash(controller, self._typist, path, run, draft_patience, clock)
        self._questions = Questions(controller, engine, self._typist, is_agent, clock)
        engine.courier = self
        controller.add_status_callback(lambda _: self.wake())
        controller.on_change(self.wake)
        controller.observer.turns.on_turn(self._on_begun, self._on_ended)
        controller.observer.turns.on_said(lambda _: self.wake())

    def wake(self) -> None:
        self._news.set()

    async def run(self) -> None:
        """For as long as the agent lives."""
        while True:
            task = await self._next_task()
            await self._carry(task)

    # --- the gate -----------------------------------------------------------------------------------------

    async def _next_task(self) -> Task:
        """The next task, once the agent can be given it."""
        while True:
            if not self._store.taken_over:
                self._begun += self._engine.take_up()
            while self._begun:
                await self._take_up(self._begun.pop(0))
            await self._stash.give_back(self._controller.status == READY)
            task = self._engine.first()
            if task is None:
                waits = self._stash.held or not self._store.taken_over
                await self._pause(OPEN_AGAIN if waits else None)
                continue
            why, pause = self._in_the_way()
            if not why:
                return task
            if task.priority == URGENT and self._controller.status != READY:
                await self._typist.interrupt(functools.partial(self._is_not_first, task), self._length)
                continue
            self._store.set_note(task, why)
            await self._pause(pause)

    def _is_not_first(self, task: Task) -> bool:
        return self._engine.first() is not task

    def _in_the_way(self) -> tuple[str, float | None]:
        """Why nothing can be typed now, and in how many seconds that may be different by itself."""
        controller = self._controller
        if controller.status == INPUT_REQUIRED:
            prompt = controller.observer.prompt
            return f"the agent asks something{f': {prompt.prompt_text[:80]}' if prompt else ''}", None
        if controller.status != READY or controller.observer.turns.current is not None:
            return "the agent is busy", None
        if self._is_starting():
            return "the agent is starting", 0.2
        if controller.draft:
            return self._stash.in_the_way()
        quiet = self._clock() - controller.last_key
        return ("a human is typing", QUIET - quiet) if quiet < QUIET else ("", None)

    # --- one task -----------------------------------------------------------------------------------------

    async def _carry(self, task: Task) -> None:
        message = self._engine.start(task)
        try:
            text = self._text(task, message)
        except OSError as error:
            self._engine.fail(
                task, _error("STORE_FAILED", f"its files cannot be kept for the agent: {error.strerror}")
            )
            return
        controller = self._controller
        first_line = controller.observer.first_line()
        name = f"{task.id}/{len(task.receipts)}"
        self._begin(text)
        self._store.add_receipt(task, "typing", injection=name, bytes=len(text.encode()), mark=self._mark)
        steps = composer.typing(controller.profile, text, controller.takes_pastes)
        drafted = controller.draft
        if drafted:
            steps = self._stash.take() + steps
        outcome = await self._typist.inject(name, steps, draft="" if drafted else None)
        if outcome == STUCK:
            self._engine.fail(task, _error("STUCK", "the agent does not read what is typed"))
            return
        if outcome != DONE:
            if drafted:
                self._stash.drop()
            self._store.add_receipt(task, "refused", why=outcome)
            self._engine.put_back(task)
            await self._pause(0.05)
            return
        if drafted:
            controller.set_draft(True, "")
        self._store.add_receipt(task, "submitted", **({"draft": "set aside"} if drafted else {}))
        self._submitted(text, first_line)
        if await self._confirm(task, text, first_line):
            await self._follow(task)
        elif not task.ended:
            await self._typist.inject(f"{name}/clear", [(0.0, clear_bytes(controller.profile, len(text)))])
            self._engine.fail(task, _error("NOT_TAKEN", "the agent did not take the message"))

    def _is_starting(self) -> bool:
        """A CLI that always takes pastes does not yet; one that never does, after a while, is typed at."""
        early = self._clock() - self._began < STARTING
        return early and self._controller.profile.paste == "bracketed" and not self._controller.takes_pastes

    def _text(self, task: Task, message: Json) -> str:
        """What is typed: the mark and the message, or where it can be read."""
        profile = self._controller.profile
        mark = composer.mark(task.short_id, sender_id(message.get("sender") or task.sender))
        body = composer.clean(message_text(keep_files(self._folder, task.id, message))).strip()
        text = f"{mark} {composer.guard(body, profile.expands)}"
        if composer.can_take(text, self._controller.takes_pastes, profile.paste_limit):
            return text
        path = keep_text(self._folder, task.id, len(task.history), body)
        return (
            f"{mark} The message is in the file {path} ({len(body.encode())} bytes): read it and act on it."
        )

    async def _confirm(self, task: Task, text: str, first_line: int) -> bool:
        """Until the turn has begun with this message. An Enter that was swallowed is pressed again."""
        pressed, since = 0, self._clock()
        while not self._taken():
            if not self._controller.running or task.cancel_wanted:
                break
            status, waited = self._controller.status, self._clock() - since
            if status == READY and waited >= CONFIRM:
                if pressed == ENTERS:
                    return False
                pressed, since, self._turn = pressed + 1, self._clock(), None
                enter = [(0.0, self._controller.profile.submit_sequence.encode())]
                outcome = await self._typist.inject(f"{task.id}/{len(task.receipts)}/enter", enter)
                self._store.add_receipt(task, "enter again", outcome=outcome)
                if outcome == DONE:
                    self._submitted(text, first_line)
            elif status == PROCESSING and waited >= CONFIRM_BUSY:
                self._adopt(text)
                break
            await self._pause(0.25)
        evidence = (
            "the agent said so" if self._turn is not None and self._turn.accepted else "the agent is busy"
        )
        self._store.add_receipt(task, "confirmed", evidence=evidence)
        self._engine.given(task)
        return True

    def _taken(self) -> bool:
        turn = self._turn
        if turn is None or turn.accepted or turn.busy:
            return turn is not None
        # Too fast to be seen at work: only for those whose screen is all there is.
        return self._controller.profile.channel in ("none", "events") and bool(turn.ended_at and turn.reply)

    async def _follow(self, task: Task) -> None:
        """The turn, to its end."""
        while not task.ended:
            turn = self._turn
            if turn is not None and turn.ended_at is not None:
                self._conclude(task, turn)
                return
            if turn is None and self._controller.status == READY:
                self._adopt(self._mark)  # ends as it settles
            if why := self._unwanted(task):
                self._interrupted = why
                await self._typist.interrupt(lambda: task.ended or self._over(), self._length)
                if not self._over() and not self._unwanted(task):
                    continue
            self._questions.tell(task)
            self._tell_progress(task)
            busy = self._controller.status == PROCESSING
            await self._stash.give_back(busy and self._controller.takes_pastes)
            await self._pause(self._next_look())

    def _over(self) -> bool:
        return self._turn is None or self._turn.ended_at is not None

    def _unwanted(self, task: Task) -> str:
        if self._turn is not None and self._controller.observer.turns.current is not self._turn:
            return ""  # never the turn of somebody else
        if task.cancel_wanted:
            return "canceled"
        urgent = self._engine.first()
        if urgent is not None and urgent.priority == URGENT > task.priority:
            return "interrupted by a message of priority 5"
        return ""

    def _conclude(self, task: Task, turn: Turn) -> None:
        tools, usage = [tool["name"] for tool in turn.tools.values()], turn.to_dict()["usage"]
        task.metadata["turn"] = {"source": turn.source, "tools": tools, "usage": usage}
        unseen = self._interrupted and turn.source == SCREEN  # a screen does not tell what ended a turn
        if turn.outcome == "failed":
            self._engine.fail(task, self._explained(turn))
        elif turn.outcome == "interrupted" or unseen:
            if turn.reply:
                self._engine.progress(task, turn.reply, append=False)
            self._engine.canceled(task, self._interrupted or "interrupted at the agent's terminal")
        else:
            pieces = [piece.to_a2a_artifact() for piece in OutputParser().parse(turn.reply)]
            if len(pieces) == 1 and pieces[0]["type"] == "text":
                pieces = []  # it is the reply over again
            derived = [derived_artifact(piece, n) for n, piece in enumerate(pieces, 1)]
            self._store.add_receipt(task, "replied", source=turn.source)
            self._engine.finish(task, turn.reply, turn.source, derived)

    def _explained(self, turn: Turn) -> Json:
        """The observer has given what a channel told a code and a message; some end without a word."""
        if turn.error:
            return turn.error
        found = self._controller.observer.error
        return (
            found.to_a2a_error() if found else _error("AGENT_ERROR", "the agent ended the turn with an error")
        )

    # --- what the turn shows ------------------------------------------------------------------------------

    def _tell_progress(self, task: Task) -> None:
        if self._clock() - self._sent_at < COALESCE or self._turn is None:
            return
        self._sent_at = self._clock()
        text = self._controller.observer.reply_so_far()
        if text == self._sent:
            return
        append = bool(self._sent) and text.startswith(self._sent)
        self._engine.progress(task, text[len(self._sent) :] if append else text, append)
        self._sent = text

    def _next_look(self) -> float:
        channel = bool(self._turn is not None and self._turn.accepted)
        return max(self._sent_at + (COALESCE if channel else LOOK_EVERY) - self._clock(), COALESCE / 2)

    def _on_begun(self, turn: Turn) -> None:
        if self._mark and turn.prompt is not None and self._mark in turn.prompt:
            self._turn = turn
        self.wake()

    def _on_ended(self, _: Turn) -> None:
        self.wake()

    async def answer(self, task: Task, text: str, by: Json | None) -> None:
        await self._questions.answer(task, text, by)
        self.wake()

    # --- after a restart ----------------------------------------------------------------------------------

    async def _take_up(self, task: Task) -> None:
        """A host before this one had begun it."""
        typing = [receipt for receipt in task.receipts if receipt["step"] == "typing"]
        waits = bool(task.pending) and task.receipts[-1]["step"] == "typing"
        if waits and typing[-1]["injection"] not in self._typed:
            self._store.add_receipt(task, "refused", why="the host died before it was typed")
            self._engine.put_back(task)
            return
        known_by = composer.mark(task.short_id, sender_id(task.sender))
        self._begin(str(typing[-1].get("mark", known_by)))
        self._engine.running = task
        if task.pending:
            self._engine.given(task)
        self._store.add_receipt(task, "taken up", why="the host was replaced")
        self._controller.check_status()
        self._turn = self._turn_of(task)
        if self._turn is None:
            self._adopt(self._mark)
        await self._follow(task)

    def _turn_of(self, task: Task) -> Turn | None:
        """The turn of its last message, under way or over; those of the messages before it do not count."""
        turns = self._controller.observer.turns
        if turns.current is not None and (turns.current.prompt or "").lstrip().startswith(self._mark):
            return turns.current
        over = [t for t in turns.finished if (t.prompt or "").lstrip().startswith(f"[A2A:{task.short_id}:")]
        replied = sum(receipt["step"] == "replied" for receipt in task.receipts)
        return over[-1] if len(over) > replied else None

    def _submitted(self, text: str, first_line: int) -> None:
        self._controller.observer.submit(self._clock(), text, first_line)
        self._controller.stir()

    def _adopt(self, prompt: str) -> None:
        """A turn that nobody has told of is under way, or was."""
        self._controller.observer.turns.take_up(prompt, self._clock())
        self._controller.stir()

    # --- within -------------------------------------------------------------------------------------------

    def _begin(self, text: str) -> None:
        self._mark = text.partition("]")[0] + "]"
        self._turn, self._sent, self._interrupted = None, "", ""
        self._length = len(text)

    async def _pause(self, seconds: float | None) -> None:
        """Until something happens, or so many seconds have passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()


def _error(code: str, message: str) -> Json:
    return {"code": code, "message": message}
