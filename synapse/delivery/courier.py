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
from synapse.delivery.carry import PROGRESS_INTERVAL, Carry, mark_of
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

KEY_PAUSE = 1.0  # seconds since a human's last key
STARTING = 15.0  # seconds in which a CLI switches its terminal modes on
CONFIRM = 2.0  # seconds in which a turn must begin before Enter is pressed again
CONFIRM_BUSY = 20.0  # the same, when the agent is at work but does not say on what
ENTERS = 4
OPEN_AGAIN = 1.0  # seconds until a disk that did not tell is asked again
FAULT_PAUSE = 1.0  # seconds after a fault of ours: one that stays must not take all of the host's time
INTERNAL = {"code": "INTERNAL", "message": "Synapse failed while it delivered the task: see its log"}


class Delivery:
    """The courier of one agent, and a host feature: status and turns wake it up.

    `injected` names the injections that a host before this one had carried out. `look_soon` has the status
    looked at soon."""

    def __init__(
        self,
        controller: AgentTerminal,
        engine: TaskEngine,
        folder: str,
        *,
        injected: frozenset[str] = frozenset(),
        is_agent: Callable[[Json], bool] = lambda _: True,
        look_soon: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        run: str = "",
        draft_patience: float = PATIENCE,
    ) -> None:
        self._controller = controller
        self._engine = engine
        self._store = engine.store
        self._folder = folder
        self._injected = injected
        self._look_soon = look_soon
        self._clock = clock
        self._began = clock()
        self._news = asyncio.Event()
        self._carry: Carry | None = None  # the last task that was given to the agent
        self._begun: list[Task] = []  # by a host before this one
        self._typist = Typist(controller, self._pause, clock)
        path = os.path.join(folder, "draft.json")
        self._stash = DraftStash(controller, self._typist, path, run, draft_patience, clock)
        self._questions = Questions(controller, engine, self._typist, is_agent, clock)
        engine.courier = self
        controller.on_change(self.wake)
        controller.observer.turns.on_turn(self._turn_began, lambda _: None)
        controller.observer.turns.on_said(lambda _: self.wake())

    def wake(self) -> None:
        self._news.set()

    def status_changed(self, _: str) -> None:
        self.wake()

    def turn_ended(self, _: Turn) -> None:
        self.wake()

    async def run(self) -> None:
        """For as long as the agent lives. A fault in one task does not end the others."""
        while True:
            try:
                await self._deliver(await self._next_task())
            except Exception:
                logger.exception("a delivery failed")
                if self._engine.running is not None:
                    self._engine.fail(self._engine.running, INTERNAL)
                await asyncio.sleep(FAULT_PAUSE)

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
                length = self._carry.length if self._carry is not None else 0
                await self._typist.interrupt(functools.partial(self._is_not_first, task), length)
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
        return ("a human is typing", KEY_PAUSE - quiet) if quiet < KEY_PAUSE else ("", None)

    # --- one task -----------------------------------------------------------------------------------------

    async def _deliver(self, task: Task) -> None:
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
        carry = self._carry = Carry(task, mark_of(text), len(text))
        self._store.add_receipt(task, "typing", injection=name, bytes=len(text.encode()), mark=carry.mark)
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
        if await self._confirm(carry, text, first_line):
            await self._follow(carry)
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

    async def _confirm(self, carry: Carry, text: str, first_line: int) -> bool:
        """Until the turn has begun with this message. An Enter that was swallowed is pressed again."""
        task, profile = carry.task, self._controller.profile
        screen_only = profile.channel in ("none", "events")
        pressed, since = 0, self._clock()
        while not carry.is_taken(screen_only):
            if not self._controller.running or task.cancel_wanted:
                break
            status, waited = self._controller.status, self._clock() - since
            if status == READY and waited >= CONFIRM:
                if pressed == ENTERS:
                    return False
                pressed, since, carry.turn = pressed + 1, self._clock(), None
                enter = [(0.0, profile.submit_sequence.encode())]
                outcome = await self._typist.inject(f"{task.id}/{len(task.receipts)}/enter", enter)
                self._store.add_receipt(task, "enter again", outcome=outcome)
                if outcome == DONE:
                    self._submitted(text, first_line)
            elif status == PROCESSING and waited >= CONFIRM_BUSY:
                self._adopt(text)
                break
            await self._pause(0.25)
        told = carry.turn is not None and carry.turn.accepted
        evidence = "the agent said so" if told else "the agent is busy"
        self._store.add_receipt(task, "confirmed", evidence=evidence)
        self._engine.given(task)
        return True

    async def _follow(self, carry: Carry) -> None:
        """The turn, to its end."""
        task = carry.task
        while not task.ended:
            turn = carry.turn
            if turn is not None and turn.ended_at is not None:
                self._conclude(carry, turn)
                return
            if turn is None and self._controller.status == READY:
                self._adopt(carry.mark)  # ends as it settles
            if why := self._unwanted(carry):
                carry.interrupted = why
                await self._typist.interrupt(lambda: task.ended or carry.over, carry.length)
                if not carry.over and not self._unwanted(carry):
                    continue
            self._questions.tell(task)
            self._tell_progress(carry)
            busy = self._controller.status == PROCESSING
            await self._stash.give_back(busy and self._controller.takes_pastes)
            await self._pause(carry.next_look(self._clock()))

    def _unwanted(self, carry: Carry) -> str:
        if carry.turn is not None and self._controller.observer.turns.current is not carry.turn:
            return ""  # never the turn of somebody else
        if carry.task.cancel_wanted:
            return "canceled"
        urgent = self._engine.first()
        if urgent is not None and urgent.priority == URGENT > carry.task.priority:
            return "interrupted by a message of priority 5"
        return ""

    def _conclude(self, carry: Carry, turn: Turn) -> None:
        task = carry.task
        tools, usage = [tool["name"] for tool in turn.tools.values()], turn.to_dict()["usage"]
        task.metadata["turn"] = {"source": turn.source, "tools": tools, "usage": usage}
        unseen = carry.interrupted and turn.source == SCREEN  # a screen does not tell what ended a turn
        if turn.outcome == "failed":
            self._engine.fail(task, self._explained(turn))
        elif turn.outcome == "interrupted" or unseen:
            if turn.reply:
                self._engine.progress(task, turn.reply, append=False)
            self._engine.canceled(task, carry.interrupted or "interrupted at the agent's terminal")
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

    def _tell_progress(self, carry: Carry) -> None:
        now = self._clock()
        if carry.turn is None or now - carry.told_at < PROGRESS_INTERVAL:
            return
        text = self._controller.observer.reply_so_far()
        changed = text != carry.told
        piece, append = carry.next_piece(text, now)
        if changed:
            self._engine.progress(carry.task, piece, append)

    def _turn_began(self, turn: Turn) -> None:
        if self._carry is not None and self._carry.begins(turn):
            self._carry.turn = turn
        self.wake()

    async def answer(self, task: Task, text: str, by: Json | None) -> None:
        await self._questions.answer(task, text, by)
        self.wake()

    # --- after a restart ----------------------------------------------------------------------------------

    async def _take_up(self, task: Task) -> None:
        """A host before this one had begun it."""
        typing = [receipt for receipt in task.receipts if receipt["step"] == "typing"]
        waits = bool(task.pending) and task.receipts[-1]["step"] == "typing"
        if waits and typing[-1]["injection"] not in self._injected:
            self._store.add_receipt(task, "refused", why="the host died before it was typed")
            self._engine.put_back(task)
            return
        mark = str(typing[-1].get("mark", composer.mark(task.short_id, sender_id(task.sender))))
        carry = self._carry = Carry(task, mark, len(mark))
        self._engine.running = task
        if task.pending:
            self._engine.given(task)
        self._store.add_receipt(task, "taken up", why="the host was replaced")
        self._controller.check_status()
        carry.turn = self._turn_of(carry)
        if carry.turn is None:
            self._adopt(mark)
        await self._follow(carry)

    def _turn_of(self, carry: Carry) -> Turn | None:
        """The turn of its last message, under way or over; those of the messages before it do not count."""
        turns, task = self._controller.observer.turns, carry.task
        if turns.current is not None and (turns.current.prompt or "").lstrip().startswith(carry.mark):
            return turns.current
        over = [t for t in turns.finished if (t.prompt or "").lstrip().startswith(f"[A2A:{task.short_id}:")]
        replied = sum(receipt["step"] == "replied" for receipt in task.receipts)
        return over[-1] if len(over) > replied else None

    def _submitted(self, text: str, first_line: int) -> None:
        self._controller.observer.submit(self._clock(), text, first_line)
        self._look_soon()

    def _adopt(self, prompt: str) -> None:
        """A turn that nobody has told of is under way, or was."""
        self._controller.observer.turns.take_up(prompt, self._clock())
        self._look_soon()

    # --- within -------------------------------------------------------------------------------------------

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
