"""Carries tasks to the agent, one at a time, and what it says back: the gate, the typing, the proof, the end.

A message is typed only when the agent is READY, asks nothing, and no human is in the middle of a line. The
relay types it as one piece, or refuses because something has happened meanwhile. The turn that then begins
with the message's mark is the task's turn, and its reply the task's reply. What is typed once is never typed
again: an Enter that was swallowed is, where nothing shows that the turn has begun.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from synapse import answers, composer, keys
from synapse.controller import TerminalController
from synapse.error_detector import ErrorDetector
from synapse.input_detector import InputPrompt
from synapse.output_parser import OutputParser
from synapse.profiles import clear_bytes
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.relay.injector import DONE, STUCK
from synapse.task import INPUT_REQUIRED as ASKS
from synapse.task import Json, NotAllowed, Task, WrongState, message_text
from synapse.task_files import keep_files, keep_text
from synapse.tasks import URGENT, TaskEngine, derived_artifact
from synapse.turns import SCREEN, Turn

logger = logging.getLogger(__name__)

QUIET = 1.0  # seconds since a human's last key
STARTING = 15.0  # seconds in which a CLI switches its terminal modes on
CONFIRM = 2.0  # seconds in which a turn must begin before Enter is pressed again
CONFIRM_BUSY = 20.0  # the same, when the agent is at work but does not say on what
ENTERS = 4
PRESS_AGAIN = 2.0  # seconds for an interrupt to work
PRESSES = 5
COALESCE = 0.1  # seconds between two pieces of a reply under way
LOOK_EVERY = 0.5  # the same where it is read off the screen
RESTORED = 0.3  # seconds after which an interrupted prompt is back in the composer
ANSWERED = 2.0  # seconds for a prompt that was answered to go away


class Delivery:
    """The courier of one agent. `typed` names the injections that a host before this one had carried out."""

    def __init__(
        self,
        controller: TerminalController,
        engine: TaskEngine,
        folder: str,
        typed: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
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
        self._answered: tuple[str, float] = ("", 0.0)
        self._interrupted = ""  # why its turn was
        engine.courier = self
        controller.add_status_callback(lambda _: self.wake())
        controller.on_change(self.wake)
        controller.observer.turns.on_turn(self._on_begun, self._on_ended)
        controller.observer.turns.on_said(lambda _: self.wake())

    def wake(self) -> None:
        self._news.set()

    async def run(self) -> None:
        """For as long as the agent lives."""
        for task in self._engine.take_up():
            await self._take_up(task)
        while True:
            task = await self._next_task()
            await self._carry(task)

    # --- the gate -----------------------------------------------------------------------------------------

    async def _next_task(self) -> Task:
        """The next task, once the agent can be given it."""
        while True:
            task = self._engine.first()
            if task is None:
                await self._pause(None)
                continue
            why, pause = self._in_the_way()
            if not why:
                return task
            if task.priority == URGENT and self._controller.status != READY:
                await self._interrupt(lambda urgent=task: self._engine.first() is not urgent)  # type: ignore[misc]
                continue
            self._store.set_note(task, why)
            await self._pause(pause)

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
            return "a human has a half-typed line in the agent's prompt", None
        quiet = self._clock() - controller.last_key
        return ("a human is typing", QUIET - quiet) if quiet < QUIET else ("", None)

    # --- one task -----------------------------------------------------------------------------------------

    async def _carry(self, task: Task) -> None:
        message = self._engine.start(task)
        text = self._text(task, message)
        controller = self._controller
        first_line = controller.observer.first_line()
        name = f"{task.id}/{len(task.receipts)}"
        self._store.add_receipt(task, "typing", injection=name, bytes=len(text.encode()))
        self._begin(text)
        outcome = await self._inject(name, composer.typing(controller.profile, text, self._bracketed))
        if outcome == STUCK:
            self._engine.fail(task, _error("STUCK", "the agent does not read what is typed"))
            return
        if outcome != DONE:
            self._store.add_receipt(task, "refused", why=outcome)
            self._engine.put_back(task)
            await self._pause(0.05)
            return
        self._store.add_receipt(task, "submitted")
        controller.observer.submit(self._clock(), text, first_line)
        if await self._confirm(task, text, first_line):
            await self._follow(task)
        elif not task.ended:
            await self._inject(f"{name}/clear", [(0.0, clear_bytes(controller.profile, len(text)))])
            self._engine.fail(task, _error("NOT_TAKEN", "the agent did not take the message"))

    @property
    def _bracketed(self) -> bool:
        return self._controller.profile.paste != "plain" and self._controller.screen.mode(2004)

    def _is_starting(self) -> bool:
        """A CLI that always takes pastes does not yet; one that never does, after a while, is typed at."""
        early = self._clock() - self._began < STARTING
        return early and self._controller.profile.paste == "bracketed" and not self._bracketed

    def _text(self, task: Task, message: Json) -> str:
        """What is typed: the mark and the message, or where it can be read."""
        profile = self._controller.profile
        mark = composer.mark(task.short_id, task.sender_id)
        body = composer.clean(message_text(keep_files(self._folder, task.id, message))).strip()
        text = f"{mark} {composer.guard(body, profile.expands)}"
        if composer.can_take(text, self._bracketed, profile.paste_limit):
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
                outcome = await self._inject(f"{task.id}/{len(task.receipts)}/enter", enter)
                self._store.add_receipt(task, "enter again", outcome=outcome)
                if outcome == DONE:
                    self._controller.observer.submit(self._clock(), text, first_line)
            elif status == PROCESSING and waited >= CONFIRM_BUSY:
                self._controller.observer.turns.take_up(text, self._clock())
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
                self._controller.observer.turns.take_up(self._mark, self._clock())  # ends as it settles
            if why := self._unwanted(task):
                self._interrupted = why
                await self._interrupt(lambda: task.ended or self._over())
                if not self._over() and not self._unwanted(task):
                    continue
            self._tell_prompt(task)
            self._tell_progress(task)
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
        error = turn.error or {}
        if "code" in error and "message" in error:
            return error
        found = ErrorDetector().detect_event(error) if error else None
        found = found or self._controller.observer.error
        return (
            found.to_a2a_error() if found else _error("AGENT_ERROR", "the agent ended the turn with an error")
        )

    # --- what the turn shows ------------------------------------------------------------------------------

    def _tell_prompt(self, task: Task) -> None:
        prompt = self._controller.observer.prompt
        if self._controller.status == INPUT_REQUIRED:
            text, at = self._answered
            if prompt is None or (prompt.prompt_text == text and self._clock() - at < ANSWERED):
                return
            if task.state != ASKS or (task.prompt or {}).get("prompt") != prompt.prompt_text:
                self._engine.asks(task, prompt.to_a2a_format())
        elif task.state == ASKS and not task.ended:
            self._store.update_status(task.id, "working", note="the prompt is gone")

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

    # --- keys ---------------------------------------------------------------------------------------------

    async def _inject(self, name: str, steps: list[tuple[float, bytes]], careful: bool = True) -> str:
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._controller.inject(name, steps, told.set_result, careful)
        return await told

    async def _interrupt(self, done: Callable[[], bool]) -> None:
        """Press what interrupts this agent until it is READY, or does not care."""
        controller = self._controller
        for attempt in range(PRESSES):
            if done() or controller.status == READY:
                break
            prompt = controller.observer.prompt if controller.status == INPUT_REQUIRED else None
            press = controller.profile.interrupt_keys
            if prompt is not None and prompt.cancel:
                press = keys.encode([prompt.cancel])
            await self._inject(f"interrupt/{self._clock()}/{attempt}", [(0.0, press)], careful=False)
            until = self._clock() + PRESS_AGAIN
            while not done() and controller.status != READY and self._clock() < until:
                await self._pause(until - self._clock())
        else:
            if not done() and controller.status != READY:
                await self._pause(PRESS_AGAIN)
                return
        await self._empty_composer()

    async def _empty_composer(self) -> None:
        """Some CLIs put an interrupted prompt back into their composer; the next would be added to it."""
        profile = self._controller.profile
        if self._controller.status == READY and not self._controller.draft:
            steps = [(RESTORED, clear_bytes(profile, self._length)), (profile.clear_delay, b"")]
            await self._inject(f"clear/{self._clock()}", steps, careful=False)

    async def answer(self, task: Task, text: str, by: Json | None) -> None:
        """Give the open prompt its answer, if it is still the one that was asked about."""
        prompt = self._controller.observer.prompt
        self._check_answerer(by)
        if self._controller.status != INPUT_REQUIRED or prompt is None or not _same(prompt, task.prompt):
            raise WrongState("the prompt is gone: somebody has answered it.")
        profile = self._controller.profile
        steps = answers.answer_keys(prompt, text, profile.submit_sequence.encode(), profile.submit_delay)
        outcome = await self._inject(f"{task.id}/answer/{self._clock()}", steps)
        if outcome != DONE:
            raise WrongState("somebody typed at the same moment: look at the task, and answer again.")
        self._answered = (prompt.prompt_text, self._clock())
        self._store.add_receipt(task, "answered")
        self._store.provide_input(task.id, text)
        self.wake()

    def _check_answerer(self, by: Json | None) -> None:
        """A human and commands of this user may; another agent only if the profile names it."""
        name = str((by or {}).get("name") or (by or {}).get("id") or "")
        if name and name not in self._controller.profile.answers:
            raise NotAllowed(
                f"{name} may not answer this agent's prompts: a human may, or who its profile names."
            )

    # --- after a restart ----------------------------------------------------------------------------------

    async def _take_up(self, task: Task) -> None:
        """A host before this one had begun it."""
        typing = [receipt for receipt in task.receipts if receipt["step"] == "typing"]
        waits = bool(task.pending) and task.receipts[-1]["step"] == "typing"
        if waits and typing[-1]["injection"] not in self._typed:
            self._store.add_receipt(task, "refused", why="the host died before it was typed")
            self._engine.put_back(task)
            return
        self._begin(composer.mark(task.short_id, task.sender_id))
        self._engine.running = task
        if task.pending:
            self._engine.given(task)
        self._store.add_receipt(task, "taken up", why="the host was replaced")
        turns = self._controller.observer.turns
        self._controller.check_status()
        known = [*turns.finished, *([turns.current] if turns.current else [])]
        self._turn = next(
            (t for t in reversed(known) if (t.prompt or "").lstrip().startswith(self._mark)), None
        )
        if self._turn is None:
            turns.take_up(self._mark, self._clock())
        await self._follow(task)

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


def _same(prompt: InputPrompt, asked: Json | None) -> bool:
    return asked is None or asked.get("prompt") == prompt.prompt_text


def _error(code: str, message: str) -> Json:
    return {"code": code, "message": message}
