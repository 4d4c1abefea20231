"""Tells the human what happens while nobody looks: by a command, by the terminal, by a toast over this agent.

The command and the terminal are told what this agent does; the toasts are what other agents ask. A toast is
an entry of the inbox: the panel shows the question, and answers it.
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from synapse.base.text import for_cells
from synapse.config import Notify
from synapse.delivery.question import Question
from synapse.errors import SynapseError
from synapse.messages.inbox import Action, Answer, Inbox
from synapse.peers import prompts
from synapse.peers.questions import Open, QuestionWatch, answer_question
from synapse.watch.turns import Turn

logger = logging.getLogger(__name__)

AT_ONCE = 4  # commands that run at the same time; an event beyond that is dropped, and logged
TIMEOUT = 10.0  # seconds until a command is killed
LOOK_EVERY = 1.0  # seconds between two looks at what other agents ask
TYPED_LATELY = 2.0  # seconds: somebody at the terminal who presses keys in a dialog has seen the question
TEXT = 2000  # characters of a reply in an event
SHORT = 200  # characters of a text for the terminal
ENTRY = "question/"  # the beginning of an inbox entry's name


@dataclass(eq=False, repr=False)
class Notifications:
    """`typed_ago` tells how long ago a human has typed; `tell_terminal` writes a sequence to the human's
    terminal; `watch` finds what other agents ask; `changed` is called when the inbox has changed."""

    agent: str
    settings: Notify
    inbox: Inbox
    typed_ago: Callable[[], float]
    tell_terminal: Callable[[bytes], None]
    watch: QuestionWatch
    changed: Callable[[], None]

    def __post_init__(self) -> None:
        self._last: tuple[str, str] = ("", "")  # the id and text of the last question that was told
        self._running: set[asyncio.Task[None]] = set()
        self._asked: dict[str, Open] = {}  # by inbox entry
        self._looking: asyncio.Task[None] | None = None

    def open(self) -> None:
        if self.settings.toast:
            self._looking = asyncio.ensure_future(self._look_for_toasts())

    async def close(self) -> None:
        tasks = [*self._running, *([self._looking] if self._looking else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def question_changed(self, question: Question | None) -> None:
        if question is None or question.id == self._last[0]:
            return
        before, self._last = self._last[1], (question.id, question.text)
        if question.text == before and self.typed_ago() < TYPED_LATELY:
            return
        document = question.to_dict()
        event = {"event": "question", "agent": self.agent, "question": document}
        self._tell(event, f"asks: {prompts.about(document)}")

    def turn_ended(self, turn: Turn) -> None:
        took = (turn.ended_at or turn.started_at) - turn.started_at
        event: dict[str, Any] = {"agent": self.agent, "seconds": round(took, 1), "prompt": turn.prompt}
        if turn.outcome == "failed":
            why = str((turn.error or {}).get("message") or "the turn ended with an error")
            self._tell({"event": "failed", **event, "error": turn.error}, f"has failed: {why}")
        elif turn.outcome == "completed" and took >= self.settings.finished_after:
            reply = turn.reply[:TEXT]
            self._tell({"event": "finished", **event, "reply": reply}, f"has finished: {reply}")

    def inbox_action(self, action: Action) -> None:
        if isinstance(action, Answer) and action.entry in self._asked:
            self._begin(self._answer(action))

    def _tell(self, event: dict[str, Any], text: str) -> None:
        if event["event"] not in self.settings.events:
            return
        if self.settings.terminal:
            self.tell_terminal(terminal_notification(self.agent, text, os.environ))
        if not self.settings.command:
            return
        if len(self._running) >= AT_ONCE:
            logger.warning("notify.command is not run for %r: %s run already", event["event"], AT_ONCE)
            return
        self._begin(self._run(self.settings.command, json.dumps(event, ensure_ascii=False).encode()))

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, command: list[str], event: bytes) -> None:
        """Without a shell: what an agent asks is data, and never a part of a command."""
        devnull, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=devnull, stderr=devnull, start_new_session=True
            )
        except OSError as error:
            logger.warning("notify.command cannot be run: %s", error)
            return
        try:
            async with asyncio.timeout(TIMEOUT):
                await process.communicate(event)
            if process.returncode:
                logger.warning("notify.command ended with status %s", process.returncode)
        except TimeoutError:
            logger.warning("notify.command took more than %g s, and was killed", TIMEOUT)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    async def _look_for_toasts(self) -> None:
        while True:
            try:
                asked, gone = await self.watch.look()
                self._show(asked, gone)
            except Exception:
                logger.exception("what other agents ask cannot be shown")
            await asyncio.sleep(LOOK_EVERY)

    def _show(self, asked: list[Open], gone: list[Open]) -> None:
        for each in asked:
            self._add(each)
        sent = {entry.question for entry in self.inbox.entries if not entry.name.startswith(ENTRY)}
        over = {str(each.question["id"]) for each in gone} | sent  # what is asked in a task from here
        for name, known in list(self._asked.items()):
            if known.question["id"] in over:
                del self._asked[name]
                self.inbox.withdraw(name)
        if asked or gone:
            self.changed()

    def _add(self, each: Open) -> None:
        question = each.question
        name = f"{ENTRY}{question['id']}"
        self._asked[name] = each
        self.inbox.sending(name, str(question["agent"]), "")
        self.inbox.asks(
            name,
            prompts.question(question),
            secret=prompts.is_secret(question),
            may_be_empty=prompts.takes_nothing(question),
            subject=prompts.about(question),
            in_words=bool(prompts.unseen(question)),
            question=str(question["id"]),
        )

    async def _answer(self, answer: Answer) -> None:
        try:
            await answer_question(self._asked[answer.entry], answer.text)
        except SynapseError as error:
            self.inbox.not_taken(answer.entry, answer.text, str(error))
            self.changed()


def terminal_notification(agent: str, text: str, env: Any) -> bytes:
    """OSC 777 for the terminals that know only that, else OSC 9; for tmux in its own envelope."""
    body = " ".join(for_cells(text).replace(";", ",").split())[:SHORT]
    only_777 = env.get("TERM", "").startswith(("rxvt", "foot")) or "VTE_VERSION" in env
    made = f"\x1b]777;notify;{agent};{body}\x07" if only_777 else f"\x1b]9;{agent} {body}\x07"
    if env.get("TMUX"):
        made = "\x1bPtmux;" + made.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return made.encode()
