"""Carries tasks to the agent, one at a time, and its replies back.

A message is typed only when the agent is READY, asks nothing, and its composer is there and empty. The
relay types it as one piece, or refuses because something has happened meanwhile. The turn that begins with
the message's mark is the task's turn, and its reply the task's reply. A message is never typed twice; only
Enter is pressed again if nothing shows that the turn has begun.
"""

import asyncio
import contextlib
import functools
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.agents.base import mark_in
from synapse.base import checkpoints
from synapse.delivery import composer
from synapse.delivery.carry import PROGRESS_INTERVAL, Carry, advised, mark_of, not_taken, read_rest
from synapse.delivery.draft_stash import DraftStash
from synapse.delivery.gate import Gate, asking, content, is_away, is_unknown, refusal
from synapse.delivery.instructions import Instructions
from synapse.delivery.questions import Questions
from synapse.delivery.typist import LEFT, Typist
from synapse.output_parser import OutputParser
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.relay.wire import DONE, ELSEWHERE, NEW_OUTPUT, STOPPED, STUCK
from synapse.tasks.engine import URGENT, TaskEngine, derived_artifact
from synapse.tasks.files import keep_files, keep_text
from synapse.tasks.task import Json, Task, message_text, sender_id
from synapse.tasks.waiting import WaitingTasks
from synapse.watch import denials
from synapse.watch.screen.composer import DRAFT, EMPTY
from synapse.watch.screen.reader import Place
from synapse.watch.turns import SCREEN, Turn

logger = logging.getLogger(__name__)

STARTING = 15.0  # seconds in which a CLI switches its terminal modes on
DRAWN = 1.0  # seconds without output before the first message: a resumed conversation is loaded
CONFIRM = 2.0  # seconds in which a turn must begin before Enter is pressed again
CONFIRM_BUSY = 20.0  # the same, if the agent works but does not say on what
ENTERS = 4
TYPE_TRIES = 10  # after a draft was taken out
STOPS = 3  # of one message, because the screen has changed before its Enter
TYPE_AGAIN = 0.05  # seconds
LOOK_AGAIN = 1.0  # seconds until the relay is asked again whether the agent is in front
OPEN_AGAIN = 1.0  # seconds until a disk that could not be read is tried again
FAULT_PAUSE = 1.0  # seconds after an error of ours, so that a lasting one does not keep the host busy


@dataclass(eq=False, repr=False)
class Delivery:
    """The courier of one agent, and a host feature: a new status wakes it up.

    `draft_patience` is the setting of that name. `injected` has the injections that the relay did for an
    earlier host. `look_soon` makes the host check the status soon. `run_name` is the name of this run of the
    agent. `questions` has what the agent asks. `on_left` gets a sentence for the human when the composer
    could not be cleared."""

    controller: AgentTerminal
    engine: TaskEngine
    folder: str
    draft_patience: float
    questions: Questions
    injected: frozenset[str] = frozenset()
    look_soon: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    run_name: str = ""
    instructions: Instructions | None = None  # those that go with a message
    on_left: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        controller, engine, clock = self.controller, self.engine, self.clock
        self._store = engine.store
        self._began: float | None = None  # when the agent was first READY
        self._news = asyncio.Event()
        self._left = ""  # a message that was typed, but not submitted
        self._carry: Carry | None = None  # the last task that was given to the agent
        self._begun: list[Task] = []  # by an earlier host
        self._typist = Typist(controller, self._pause, clock)
        path = os.path.join(self.folder, "draft.json")
        self._stash = DraftStash(controller, self._typist, path, self.run_name, clock)
        self._gate = Gate(controller, self.draft_patience, clock)
        self._waiting = WaitingTasks(engine)
        engine.courier, engine.on_queued = self, self._tell_waiting
        self._checks: set[asyncio.Task[None]] = set()
        controller.on_line_taken = self._line_taken
        controller.on_change(self.wake)
        controller.observer.turns.on_turn(self._turn_began, self.wake)
        controller.observer.turns.on_said(self.wake)

    def wake(self, *_: object) -> None:
        self._news.set()

    def status_changed(self, status: str) -> None:
        if status == READY and self._began is None:
            self._began = self.clock()
        self.questions.look()
        self.wake()

    async def run(self) -> None:
        """Deliver until canceled. An error in one task does not affect the others."""
        while True:
            try:
                await self._deliver(await self._next_task())
            except Exception as error:
                logger.exception("a delivery failed")
                if self.engine.running is not None:
                    why = f"Synapse failed while it delivered the task ({error!r:.200}): see its log"
                    self.engine.fail(self.engine.running, _error("INTERNAL", why))
                await asyncio.sleep(FAULT_PAUSE)

    async def _next_task(self) -> Task:
        while True:
            if not self._store.taken_over:
                self._begun += self.engine.take_up()
            while self._begun:
                await self._take_up(self._begun.pop(0))
            await self._stash.give_back(self.controller.status == READY)
            self._tell_waiting()  # one that has expired is not typed
            task = self.engine.first()
            if task is None:
                waits = self._stash.held or not self._store.taken_over
                await self._pause(OPEN_AGAIN if waits else None)
                continue
            await self._clear_left()
            why, pause = self._in_the_way()
            if not why:
                why, pause = await self._elsewhere(), LOOK_AGAIN
            if not why:
                return task
            if (
                task.priority == URGENT
                and self.controller.status != READY
                and not is_unknown(self.controller)
            ):
                text = self._carry.text if self._carry is not None else ""
                await self._typist.interrupt(functools.partial(self._is_not_first, task), text)
                continue
            await self._pause(pause)

    def _is_not_first(self, task: Task) -> bool:
        return self.engine.first() is not task

    def _in_the_way(self) -> tuple[str, float | None]:
        """Why nothing can be typed now, and the seconds until that may change without an event."""
        controller = self.controller
        if controller.status == INPUT_REQUIRED:
            return asking(controller), None
        if is_unknown(controller):
            return self._gate.in_the_way(holds_draft=self._stash.is_full)
        if controller.status != READY or controller.observer.turns.current is not None:
            unseen = self._began is None
            return "the agent has not shown yet that it takes input" if unseen else "the agent is busy", None
        why, pause = self._gate.in_the_way(holds_draft=self._stash.is_full)
        return ("the agent is starting", 0.2) if not why and self._is_starting() else (why, pause)

    async def _elsewhere(self) -> str:
        """Why the relay would type nothing, if another program is in the foreground of the terminal."""
        if self.controller.observer.sees_composer:
            return ""
        outcome = await self._typist.inject(f"front/{self.clock()}", [], careful=False, in_front=True)
        return outcome if outcome == ELSEWHERE else ""

    def _tell_waiting(self) -> float | None:
        """Tell the tasks in the queue what they wait for; returns the seconds until one of them expires."""
        running, asks = self.engine.running, self.controller.status == INPUT_REQUIRED
        why = self._in_the_way()[0]
        if running is not None and not asks:
            sender = running.sender and sender_id(running.sender)
            why = f"the agent is busy with {f'a task of {sender}' if sender else 'another task'}"
        return self._waiting.tell(why, asks)

    async def _deliver(self, task: Task) -> None:
        message = self.engine.start(task)
        try:
            text, instructed = self._text(task, message)
        except OSError as error:
            why = f"its files cannot be kept for the agent: {error.strerror}"
            self.engine.fail(task, _error("STORE_FAILED", why))
            return
        controller = self.controller
        place = controller.observer.place()
        name = f"{task.id}/{len(task.receipts)}"
        carry = self._carry = Carry(task, mark_of(text), text)
        more = {"instructions": True} if instructed else {}
        size = len(text.encode())
        self._store.add_receipt(task, "typing", injection=name, bytes=size, mark=carry.mark, **more)
        found = content(controller)
        drafted = found.text if found.state == DRAFT else None
        outcome = await self._set_aside(name, drafted) if drafted else DONE
        if outcome == DONE:
            outcome = await self._type(task, name, text, tries=TYPE_TRIES if drafted else 1)
        if outcome == STUCK:
            self.engine.fail(task, _error("STUCK", "the agent does not read what is typed"))
            return
        if outcome != DONE:
            self._left = text if outcome == STOPPED else self._left
            self._store.add_receipt(task, "refused", why=outcome)
            self.engine.put_back(task)
            await self._pause(TYPE_AGAIN)
            return
        self._store.add_receipt(task, "submitted", **({"draft": "set aside"} if drafted else {}))
        self._submitted(text, place)
        checkpoints.reached("message submitted")
        if await self._confirm(carry, text, place):
            self._note_instructions(instructed)
            await self._follow(carry)
        elif not task.ended:
            untaken = advised(not_taken(refusal(self.controller)), self.questions.agent)
            await self._typist.clear(name, text)
            self.engine.fail(task, untaken)

    async def _set_aside(self, name: str, drafted: str) -> str:
        """A message of ours may still be in the composer, and nobody wants that back."""
        if mark_in(drafted) and not self.controller.draft:
            return await self._typist.clear(name, drafted)
        return await self._stash.take(name, drafted)

    async def _clear_left(self) -> None:
        """Remove a message that was typed but not submitted, once the composer is back."""
        seen = self.controller.composer.state
        if self._left and self.controller.status == READY and seen in (DRAFT, EMPTY):
            left, self._left = self._left, ""
            if seen == DRAFT and not self.controller.draft:
                await self._typist.clear(f"left/{self.clock()}", left)

    async def _type(self, task: Task, name: str, text: str, tries: int) -> str:
        """Type and submit a message. It may be tried again if the agent has written meanwhile: a composer
        that was cleared is drawn again. After STOPS it is the message that looks like a question."""
        stops = sum(receipt.get("why") == STOPPED for receipt in task.receipts)
        unless = functools.partial(is_away, self.controller, text) if stops < STOPS else None
        steps = composer.typing(self.controller.profile, text, self.controller.takes_pastes)
        for _ in range(tries):
            in_front = not self.controller.observer.sees_composer
            self.controller.own_message.typing()
            outcome = await self._typist.inject(name, steps, in_front=in_front, unless=unless)
            self.controller.own_message.typed(outcome in (DONE, STOPPED))
            if outcome != NEW_OUTPUT:
                break
            await self._pause(TYPE_AGAIN)
        return outcome

    def _is_starting(self) -> bool:
        """A CLI that accepts pastes does not yet, or still draws: text typed then gets lost. STARTING seconds
        after its first prompt it is typed at all the same."""
        early = self._began is None or self.clock() - self._began < STARTING
        draws = self._carry is None and self.controller.observer.quiet(self.clock()) < DRAWN
        bracketed = self.controller.profile.paste == "bracketed"
        return early and bracketed and (draws or not self.controller.takes_pastes)

    def _text(self, task: Task, message: Json) -> tuple[str, bool]:
        """What is typed: the mark, then the message or the path of a file with it; and whether it has the
        instructions. They wait for the next message where only they would be too much."""
        profile, takes_pastes = self.controller.profile, self.controller.takes_pastes
        due = self.instructions.due(lines=takes_pastes) if self.instructions is not None else ""
        mark = composer.mark(task.short_id, sender_id(message.get("sender") or task.sender))
        body = composer.clean(message_text(keep_files(self.folder, task.id, message)))
        text = f"{mark} {composer.guard(body, profile.expands)}"
        for added in (due, ""):
            if composer.can_take(text + added, takes_pastes, profile.paste_limit):
                return text + added, bool(added)
        body += due
        path, size = keep_text(self.folder, task.id, len(task.history), body), len(body.encode())
        return f"{mark} The message is in the file {path} ({size} bytes): read it and act on it.", bool(due)

    def _note_instructions(self, instructed: bool) -> None:
        if instructed and self.instructions is not None:
            self.instructions.given()

    async def _confirm(self, carry: Carry, text: str, place: Place) -> bool:
        """Wait until the turn of this message has begun; press Enter again if it does not begin."""
        task, profile = carry.task, self.controller.profile
        observer, before = self.controller.observer, self.controller.observer.error
        screen_only = profile.channel in ("none", "events")
        pressed, since, there = 0, self.clock(), self.clock()
        while not carry.is_taken(screen_only) or (screen_only and observer.is_unsent(text)):
            if not self.controller.running or task.cancel_wanted:
                break
            status, waited = self.controller.status, self.clock() - since
            away = is_away(self.controller, text) if status == READY else ""
            there = there if away else self.clock()
            self._store.set_note(task, away if self.clock() - there >= CONFIRM else "")
            if away:
                since = self.clock()  # Enter would go elsewhere: wait until the composer is back
            elif status == READY and waited >= CONFIRM:
                refused = refusal(self.controller)
                if pressed == ENTERS or (refused is not None and (pressed or refused != before)):
                    return False
                pressed, since, carry.turn = pressed + 1, self.clock(), None
                enter = [(0.0, profile.submit_sequence.encode())]
                outcome = await self._typist.inject(f"{task.id}/{len(task.receipts)}/enter", enter)
                self._store.add_receipt(task, "enter again", outcome=outcome)
                if outcome == DONE:
                    self._submitted(text, place)
            elif status == PROCESSING and waited >= CONFIRM_BUSY:
                self._adopt(text)
                break
            await self._pause(0.25)
        evidence = "the agent said so" if carry.turn and carry.turn.accepted else "the agent is busy"
        self._store.add_receipt(task, "confirmed", evidence=evidence)
        self.engine.given(task)
        return True

    async def _follow(self, carry: Carry) -> None:
        task = carry.task
        while not task.ended:
            turn = carry.turn
            if turn is not None and turn.ended_at is not None:
                await self.questions.settled()
                await read_rest(turn, self.controller.observer, self.clock, self._pause)
                self._conclude(carry, turn)
                return
            if turn is None and self.controller.status == READY:
                self._adopt(carry.mark)  # it ends once the screen has settled
            if why := self._unwanted(carry):
                carry.interrupted = why
                await self._typist.interrupt(lambda: task.ended or carry.over, carry.text)
                if not carry.over and not self._unwanted(carry):
                    continue
            self.questions.look()
            self._tell_progress(carry)
            await self._stash.give_back(self.controller.status == PROCESSING and self.controller.takes_pastes)
            await self._pause(carry.next_look(self.clock()))

    def _unwanted(self, carry: Carry) -> str:
        if carry.turn is not None and self.controller.observer.turns.current is not carry.turn:
            return ""  # another turn is not interrupted
        if carry.task.cancel_wanted:
            return "canceled"
        first = self.engine.first()
        urgent = first is not None and first.priority == URGENT > carry.task.priority
        return "interrupted by a message of priority 5" if urgent else ""

    def _conclude(self, carry: Carry, turn: Turn) -> None:
        task = carry.task
        tools, usage = [tool["name"] for tool in turn.tools.values()], turn.to_dict()["usage"]
        about = {"source": turn.source, "confidence": turn.confidence, "tools": tools, "usage": usage}
        task.metadata["turn"] = about
        unseen = carry.interrupted and turn.source == SCREEN  # a screen does not show what ended a turn
        if turn.outcome == "failed":
            self.engine.fail(task, advised(self._explained(turn), self.questions.agent))
        elif turn.outcome == "interrupted" or unseen:
            if turn.reply:
                self.engine.progress(task, turn.reply, append=False)
            if turn.denied is not None and not carry.interrupted:
                self.engine.denied(task, turn.denied, denials.EVIDENCE.get(turn.denied_by, ""))
            else:
                self.engine.canceled(task, carry.interrupted or "interrupted at the agent's terminal")
        else:
            pieces = [piece.to_a2a_artifact() for piece in OutputParser().parse(turn.reply)]
            if len(pieces) == 1 and pieces[0]["type"] == "text":
                pieces = []  # it is the whole reply
            derived = [derived_artifact(piece, n) for n, piece in enumerate(pieces, 1)]
            self._store.add_receipt(task, "replied", **turn.evidence)
            self.engine.finish(task, turn.reply, turn.source, derived, turn.confidence)

    def _explained(self, turn: Turn) -> Json:
        if turn.error:
            return turn.error
        if found := self.controller.observer.error:
            return found.to_a2a_error()
        return _error("AGENT_ERROR", "the agent ended the turn with an error")

    def _tell_progress(self, carry: Carry) -> None:
        now = self.clock()
        if carry.turn is None or now - carry.told_at < PROGRESS_INTERVAL:
            return
        text = self.controller.observer.reply_so_far()
        changed = text != carry.told
        piece, append = carry.next_piece(text, now)
        if changed:
            self.engine.progress(carry.task, piece, append)

    def _turn_began(self, turn: Turn) -> None:
        if self._carry is not None and self._carry.begins(turn):
            self._carry.turn = turn
        self.wake()

    def _line_taken(self, line: str) -> None:
        """The relay removes a line for another agent from the composer; see that it is gone."""
        check = asyncio.ensure_future(self._check_cleared(line, self.controller.keys + 1))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    async def _check_cleared(self, line: str, keys: int) -> None:
        """`keys` counts the human's keys up to the Enter of the line; after more it is another line."""
        if await self._typist.sees_no_draft() or self.controller.keys > keys:
            return
        if await self._typist.clear(f"line/{self.clock()}", line) == LEFT:
            self.on_left("A part of the line that was sent is still in the prompt: remove it.")

    async def answer(self, task: Task, text: str, by: Json | None, question: str = "") -> None:
        await self.questions.answer_task(task, text, by, question)
        self.wake()

    async def _take_up(self, task: Task) -> None:
        typing = [receipt for receipt in task.receipts if receipt["step"] == "typing"]
        waits = bool(task.pending) and task.receipts[-1]["step"] == "typing"
        if waits and typing[-1]["injection"] not in self.injected:
            self._store.add_receipt(task, "refused", why="the host died before it was typed")
            self.engine.put_back(task)
            return
        mark = str(typing[-1].get("mark", composer.mark(task.short_id, sender_id(task.sender))))
        carry = self._carry = Carry(task, mark, mark)
        self.engine.running = task
        if task.pending:
            self.engine.given(task)
        self._note_instructions(bool(typing[-1].get("instructions")))
        self._store.add_receipt(task, "taken up", why="the host was replaced")
        self.controller.observer.taken_up(mark)
        self.controller.check_status()
        carry.turn = self._turn_of(carry)
        if carry.turn is None:
            self._adopt(mark)
        await self._follow(carry)

    def _turn_of(self, carry: Carry) -> Turn | None:
        turns, task = self.controller.observer.turns, carry.task
        if turns.current is not None and (turns.current.prompt or "").lstrip().startswith(carry.mark):
            return turns.current
        over = [t for t in turns.finished if (t.prompt or "").lstrip().startswith(f"[A2A:{task.short_id}:")]
        replied = sum(receipt["step"] == "replied" for receipt in task.receipts)
        return over[-1] if len(over) > replied else None

    def _submitted(self, text: str, place: Place) -> None:
        self.controller.observer.submit(self.clock(), text, place)
        self.look_soon()

    def _adopt(self, prompt: str) -> None:
        self.controller.observer.turns.take_up(prompt, self.clock())
        self.look_soon()

    async def _pause(self, seconds: float | None) -> None:
        expires = self._tell_waiting()
        if expires is not None:
            seconds = expires if seconds is None else min(seconds, expires)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()


def _error(code: str, message: str) -> Json:
    return {"code": code, "message": message}
