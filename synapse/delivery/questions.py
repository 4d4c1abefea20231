"""The open question of an agent: seen on its screen, told to its task and to the host's features, answered.

Every answer goes through `Questions.answer`, whoever gives it, and names the question that it is for. Keys
are typed only while that question is on the screen, and only once for each question.
"""

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from synapse.agent_terminal import AgentTerminal
from synapse.base import checkpoints, files
from synapse.base.states import INPUT_REQUIRED as ASKS
from synapse.delivery import answers
from synapse.delivery.question import UNREAD, Question, fingerprint, unread
from synapse.delivery.typist import Typist
from synapse.registry import INPUT_REQUIRED
from synapse.relay.wire import DONE, NEW_OUTPUT
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import BadMessage, Json, NotAllowed, Task, WrongState, mended, sender_id
from synapse.watch import denials
from synapse.watch.screen.questions import InputPrompt

logger = logging.getLogger(__name__)

TRIES = 10  # for an answer to a question that is being repainted
TRY_AGAIN = 0.1  # seconds
LOOK_AGAIN = 0.05  # seconds
PAINTED = 2.0  # seconds in which a screen that is being painted must settle for an answer
ANSWERED = 2.0  # seconds in which an answered question may still be on the screen
UNHEARD = 10.0  # the same, where the agent has written nothing since: a busy machine, and it reads later
UNREAD_AFTER = 3.0  # seconds until a question is reported that the screen shows in no known form
GONE_AFTER = 1.0  # seconds of unbroken output after which the question is no longer there
Steps = list[tuple[float, bytes]]
CLOSED = 20  # of how many questions it is known how they ended

_GONE = "the question is gone: somebody has answered it, or the agent no longer asks."
_CHANGED = "the agent asks something else now: read it, and answer that."
_ANSWERED = "somebody else has answered the question."
_STILL = "the answer was typed, and the agent still shows the question: look at its terminal."


class QuestionGone(WrongState):
    """The question of an answer is not the one on the screen; nothing was typed."""

    code = "QUESTION_GONE"


class StillAsked(WrongState):
    """The answer was typed, and the same question is on the screen all the same."""

    code = "STILL_ASKED"


@dataclass(eq=False, repr=False)
class Questions:
    """`agent` is the agent's name, `is_agent` tells whether a sender is an agent. `path` is the file in which
    the open question of the run `run_name` is kept for the next host; `injected` has the injections that the
    relay did for earlier hosts. `changed` is called with the question that is open from now on, or None."""

    controller: AgentTerminal
    engine: TaskEngine
    agent: str = ""
    path: str = ""
    run_name: str = ""
    injected: frozenset[str] = frozenset()
    is_agent: Callable[[Json], bool] = lambda _: True
    changed: Callable[[Question | None], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.open: Question | None = None
        self._print = ""  # the fingerprint of the open question
        self._seen = (0, 0)  # when it was last seen: `decisions` of the terminal, the bytes written
        self._has_looked = False
        self._silent_since: float | None = None  # it asks something, and the screen shows no known question
        self._unsure_since: float | None = None  # the screen is being painted
        self._is_typing = False  # an answer, whose outcome is not known yet
        self._answered = ("", 0.0, 0)  # the last answered question: fingerprint, when, the bytes written
        self._closed: dict[str, str] = {}  # the ids of earlier questions, and how they ended
        self._typist = Typist(self.controller, _sleep, self.clock)
        self._one_at_a_time = asyncio.Lock()
        self._kept = files.read_object(self.path) if self.path else {}
        self._menu: Json = {}  # the last one that was kept for the next host

    def list(self) -> list[Question]:
        return [self.open] if self.open is not None else []

    def look(self) -> float | None:
        """Find out what the agent asks now. Returns the seconds until that should be repeated, if any."""
        wait = self._look()
        self._tell_task()
        return wait

    def _look(self) -> float | None:
        controller, now = self.controller, self.clock()
        if not controller.running:
            self._close(_GONE)
            return None
        if self._is_typing:
            return None
        if not controller.observer.has_seen_all:
            return self._wait(now)
        self._unsure_since, self._has_looked = None, True
        if self._is_menu():
            self._close(_GONE)
            return None
        if controller.status != INPUT_REQUIRED or controller.observer.prompt is not None:
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        if self._silent_since is not None and (left := self._silent_since + UNREAD_AFTER - now) > 0:
            self._close(_GONE)
            return left
        prompt = self._prompt()
        if prompt is None:
            self._answered = ("", 0.0, 0)
            self._close(_GONE)
            return None
        asked = fingerprint(prompt)
        answered, at, written = self._answered
        stays = UNHEARD if written == controller.written else ANSWERED
        if asked == answered and (left := at + stays - now) > 0:
            return left
        if self.open is None or asked != self._print or self._may_be_next():
            self._close(_CHANGED)
            self._ask(prompt, asked)
        elif prompt.default != self.open.prompt.default:
            self._open(replace(self.open, prompt=prompt))  # another option is highlighted
        return None

    def _is_menu(self) -> bool:
        """Whether the human has opened what is on the screen: it is no question, and nobody is asked."""
        observer = self.controller.observer
        if observer.prompt is None:
            return False
        about = {"menu": fingerprint(observer.prompt), "keys": self.controller.keys}
        if self._kept == {"run": self.run_name, **about}:
            observer.menu.take_up()
        if observer.menu.is_open:
            self._kept = {}
            if about != self._menu:
                self._menu = about
                self._keep(about)
        return observer.menu.is_open

    def _prompt(self) -> InputPrompt | None:
        controller = self.controller
        if controller.status != INPUT_REQUIRED:
            return None
        return controller.observer.prompt or unread(controller.screen.text().split("\n"))

    def _may_be_next(self) -> bool:
        """Whether a question that reads the same may be another one: a key that can have answered it was
        pressed, and output came."""
        decisions, written = self._seen
        if decisions != self.controller.decisions:
            return written != self.controller.written
        self._seen = decisions, self.controller.written
        return False

    def _wait(self, now: float) -> float | None:
        """While the screen is being painted, the question stays open for a moment."""
        if self.open is None:
            return None
        self._unsure_since = now if self._unsure_since is None else self._unsure_since
        left = self._unsure_since + GONE_AFTER - now
        if left > 0:
            return left
        self._close(_GONE)
        return None

    def _ask(self, prompt: InputPrompt, asked: str) -> None:
        found = self._known(asked)
        name, at = found if found is not None else (uuid.uuid4().hex[:8], self.wall_clock())
        self._print, self._seen = asked, (self.controller.decisions, self.controller.written)
        self._open(Question(name, self.agent, prompt, at, self._task_id()))
        self._keep({"id": name, "fingerprint": asked, "asked_at": at, "keys": self.controller.keys})

    def _known(self, asked: str) -> tuple[str, float] | None:
        """The id and time that an earlier host gave this question, if nobody can have answered it since."""
        kept, self._kept = self._kept, {}
        same = (kept.get("run"), kept.get("fingerprint"), kept.get("keys"))
        if same != (self.run_name, asked, self.controller.keys):
            return None
        name = str(kept["id"])
        if any(injection.startswith(f"answer/{name}/") for injection in self.injected):
            return None
        return name, float(kept["asked_at"])

    def _open(self, question: Question) -> None:
        self.open = question
        self.changed(question)

    def _close(self, why: str) -> None:
        if self.open is None:
            return
        self._closed[self.open.id] = why
        while len(self._closed) > CLOSED:
            del self._closed[next(iter(self._closed))]
        self.open, self._print = None, ""
        self._keep({})
        self.changed(None)

    def _keep(self, about: Json) -> None:
        if not self.path:
            return
        try:
            files.replace(self.path, json.dumps({"run": self.run_name, **about}).encode())
        except OSError as error:
            logger.warning("the open question cannot be stored for the next host: %s", error)

    def _task(self) -> Task | None:
        running = self.engine.running
        return running if running is not None and running.at_work and not running.ended else None

    def _task_id(self) -> str | None:
        task = self._task()
        return task.id if task is not None else None

    def _tell_task(self) -> None:
        """Tell the task that the agent works on what is asked, or that it no longer is."""
        task, question = self._task(), self.open
        if question is not None and question.task != self._task_id():
            self._open(replace(question, task=self._task_id()))
            question = self.open
        if task is None or not self._has_looked:
            return
        if question is not None and (task.state != ASKS or (task.prompt or {}).get("id") != question.id):
            self.engine.asks(task, question.to_prompt())
        elif question is None and task.state == ASKS:
            self.engine.store.update_status(task.id, "working", note="the prompt is gone")

    async def answer_task(self, task: Task, text: str, by: Json | None, question_id: str = "") -> None:
        """Answer what a task asks; `question_id` is the question that the sender has seen, if it says so."""
        question_id = question_id or str((task.prompt or {}).get("id") or "")
        if not question_id and self.open is not None and self.open.task == task.id:
            question_id = self.open.id
        self._check(task, by)
        await self.answer(question_id, text, by)

    async def answer(self, question_id: str, text: str, by: Json | None = None) -> Question:
        """Type the answer to the open question, if it is still the one with this id.

        Raises QuestionGone if it is not, BadMessage for an answer that is not offered, NotAllowed, and
        StillAsked if the agent does not go on."""
        async with self._one_at_a_time:
            question = await self._still_open(question_id)
            self._check(self._task(), by)
            if question.prompt.input_type == UNREAD:
                raise WrongState(f"Synapse cannot read it: answer it with `synapse attach {self.agent}`.")
            self.engine.check_size(text)
            text = mended(text)
            if question.prompt.unseen and text.strip().isdecimal():
                raise BadMessage(
                    f"a number is no answer here, because {question.prompt.unseen}: answer in words."
                )
            profile = self.controller.profile
            steps = answers.answer_keys(
                question.prompt, text, profile.submit_sequence.encode(), profile.submit_delay
            )
            for attempt in range(TRIES):
                outcome = await self._type(f"answer/{question_id}/{attempt}", steps)
                if outcome != NEW_OUTPUT:
                    break
                await asyncio.sleep(TRY_AGAIN)  # it may only have repainted
                await self._still_open(question_id)
            if outcome != DONE:
                raise QuestionGone("somebody typed at the same moment: look at the question, and try again.")
            asked = self._print
            self._note(question, text)
        if not await self._is_gone(asked):
            raise StillAsked(_STILL)
        return question

    async def _is_gone(self, asked: str) -> bool:
        """Whether an answered question leaves the screen, before it counts as asked again. One of which the
        screen is painted all the time counts as gone: it is not seen."""
        controller = self.controller
        for _ in range(int(UNHEARD / LOOK_AGAIN)):
            self.look()
            prompt, sees = self._prompt(), controller.observer.has_seen_all
            if sees and (prompt is None or fingerprint(prompt) != asked):
                return True
            if sees and self._print == asked:
                return False
            checkpoints.reached("answered question shown")
            await asyncio.sleep(LOOK_AGAIN)
        return not controller.running or not controller.observer.has_seen_all

    async def settled(self) -> None:
        """Wait until an answer that is being typed is noted: the agent may be done before that."""
        async with self._one_at_a_time:
            pass

    async def _type(self, name: str, steps: Steps) -> str:
        """Nothing is told until the outcome is known: the agent may go on before the relay reports it."""
        self._is_typing = True
        try:
            return await self._typist.inject(name, steps)
        finally:
            self._is_typing = False

    def _note(self, question: Question, text: str) -> None:
        """The answer was typed. Of a secret nothing is kept."""
        self._answered = (self._print, self.clock(), self.controller.written)
        prompt, turn = question.prompt, self.controller.observer.turns.current
        if prompt.permission and turn is not None:
            no = answers.denies(prompt, text)
            turn.permitted, turn.denied = not no, prompt.subject or prompt.question if no else None
            turn.denied_by = denials.ANSWER if no else ""
        task = self._task()
        self._close(_ANSWERED)
        if task is not None:
            self.engine.store.add_receipt(task, "answered", question=question.id)
            self.engine.store.provide_input(task.id, text)

    async def _still_open(self, question_id: str) -> Question:
        """The question, once the screen shows that it is still there."""
        until = self.clock() + PAINTED
        while True:
            self.look()
            question = self.open
            if question is None and question_id == self._kept.get("id") and self.clock() < until:
                pass  # an earlier host has seen it, and this one has not looked yet
            elif question is None or question.id != question_id:
                raise QuestionGone(self._closed.get(question_id, _GONE if question is None else _CHANGED))
            elif self.controller.observer.has_seen_all:
                return question
            elif self.clock() >= until:
                raise QuestionGone("the agent repaints its screen all the time: look at it, and try again.")
            await asyncio.sleep(LOOK_AGAIN)

    def _check(self, task: Task | None, by: Json | None) -> None:
        """Allowed: humans, this user's commands, the sender if it is not an agent, the profile's list."""
        if not by or sender_id(by) in self.controller.profile.answers:
            return
        if task is None or by != task.sender or self.is_agent(by):
            raise NotAllowed(
                f"{sender_id(by)} may not answer this agent's prompts: "
                "a human may, the sender of the task if it is not an agent, or those that its profile names."
            )


async def _sleep(seconds: float | None) -> None:
    await asyncio.sleep(seconds or 0)
