"""What the viewers of one agent share: its events, its screen, and what they may ask for."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from synapse.agent_terminal import AgentTerminal
from synapse.delivery.question import Question
from synapse.delivery.questions import Questions
from synapse.event_emitter import SSEEvent
from synapse.keys import names
from synapse.server.about import About
from synapse.server.dialect.models import SendRequest
from synapse.server.live.event_feed import EventFeed, at, document, encoded, task_frames
from synapse.server.live.screen_feed import ScreenFeed
from synapse.server.questions import AnswerRequest
from synapse.tasks.engine import TaskEngine
from synapse.tasks.expiry import expires_in
from synapse.tasks.task import BadMessage, Json, Task, message_text, sender_id
from synapse.watch.turns import Turn

RECENT = 20  # tasks that have ended and are part of a snapshot
Request = TypeVar("Request", bound=BaseModel)
LINE = 200  # characters of a message that say what an agent works on
LONGEST_KEYS = 100_000  # characters of one frame of keys
PASTE_BEGIN, PASTE_END = b"\x1b[200~", b"\x1b[201~"


class Live:
    """A host feature: one for each agent, made when the first viewer connects."""

    def __init__(
        self, controller: AgentTerminal, engine: TaskEngine, questions: Questions, about: About
    ) -> None:
        self._controller = controller
        self._engine = engine
        self._questions = questions
        self._about = about
        self.events = EventFeed()
        self.screen = ScreenFeed(controller)
        self._told = self._status()
        controller.observer.turns.on_turn(self.turn_ended, lambda _: None)
        controller.on_change(self.screen.touched)

    def status_changed(self, _: str) -> None:
        self._tell_status()

    def turn_ended(self, _: Turn) -> None:
        self._tell_status()

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        self.events.task_changed(task, event)
        self._tell_status()

    def question_changed(self, question: Question | None) -> None:
        self.events.add("question", {"question": question.to_dict() if question is not None else None})
        self._tell_status()  # what is asked may have been taken for a menu

    def snapshot(self, topics: set[str]) -> list[str]:
        """The present state as frames, the oldest task first."""
        number = self.events.number
        frames = []
        if "status" in topics:
            frames.append(encoded({"type": "status", "n": number, **self._status()}))
        if "question" in topics:
            asked = self._questions.open
            open_now = asked.to_dict() if asked is not None else None
            frames.append(encoded({"type": "question", "n": number, "question": open_now}))
        if topics & {"task", "artifact", "receipt"}:
            live = self._engine.store.live()
            known = {task.id for task in live}
            recent = self._engine.store.list_tasks(limit=RECENT)
            old = [task for task in reversed(recent) if task.id not in known]
            for task in sorted([*old, *live], key=lambda task: task.created_at):
                frames += task_frames(task, number, topics)
        return frames

    async def send(self, wanted: Any) -> Json:
        """A new task, or a message to one: the body of `POST /tasks/send`, and `priority`."""
        wanted = {"message": wanted} if isinstance(wanted, str) else wanted
        if not isinstance(wanted, dict):
            raise BadMessage("send needs a text or an object with a message.")
        fields = dict(wanted)
        priority = fields.pop("priority", 1)
        if not isinstance(priority, int) or isinstance(priority, bool):
            raise BadMessage("priority is a number from 1 to 5.")
        request = _checked(SendRequest, fields)
        message, sender = request.message.neutral(), request.sender.neutral() if request.sender else None
        if request.task_id is not None:
            task_id = self._engine.find(request.task_id).id
            context_id = request.context_id
            task = await self._engine.follow_up(task_id, message, sender=sender, context_id=context_id)
            return {"task": document(task)}
        task = self._engine.submit(
            message,
            sender=sender,
            priority=priority,
            context_id=request.context_id,
            metadata=request.metadata,
            request_id=request.request_id,
            expires=expires_in(request.metadata, request.message.metadata),
        )
        return {"task": document(task)}

    async def answer(self, wanted: Any) -> Json:
        """`{"question", "answer", "sender"?}`: the answer to the open question with that id."""
        fields = dict(wanted) if isinstance(wanted, dict) else {}
        question_id = fields.pop("question", None)
        if not isinstance(question_id, str):
            raise BadMessage("answer needs an object with the question's id, and the answer.")
        request = _checked(AnswerRequest, fields)
        by = request.sender.neutral() if request.sender else None
        return {"question": (await self._questions.answer(question_id, request.answer, by)).to_dict()}

    def keys(self, wanted: Any, by: str) -> Json:
        """Key names as in tmux, or text."""
        if not isinstance(wanted, list) or not all(isinstance(key, str) for key in wanted):
            raise BadMessage("keys is a list of key names and texts.")
        if sum(map(len, wanted)) > LONGEST_KEYS:
            raise BadMessage(f"keys has more than {LONGEST_KEYS} characters: send a message instead.")
        data = names.encode(wanted, application_cursor=self._controller.screen.mode(1))
        self._controller.type_keys(data, by)
        return {"bytes": len(data)}

    def paste(self, text: Any, by: str) -> Json:
        """Text as a terminal pastes it: a program that asked for brackets gets them."""
        if not isinstance(text, str) or len(text) > LONGEST_KEYS:
            raise BadMessage(f"paste is a text of at most {LONGEST_KEYS} characters.")
        data = text.replace("\r\n", "\n").replace("\n", "\r").encode("utf-8", "replace")
        if self._controller.screen.mode(2004):
            data = PASTE_BEGIN + data.replace(b"\x1b", b"") + PASTE_END
        self._controller.type_keys(data, by)
        return {"bytes": len(data)}

    def rows(self, wanted: Any) -> Json:
        fields = wanted if isinstance(wanted, dict) else {}
        first, count = fields.get("first"), fields.get("count", 100)
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in (first, count)):
            raise BadMessage("rows needs an object with first and count, both 0 or more.")
        return self.screen.history(int(first or 0), int(count))

    def _status(self) -> Json:
        controller = self._controller
        return {
            "status": controller.status,
            "since": at(controller.status_since),
            "agent": {"id": self._about.agent_id, "name": self._about.name, "type": self._about.agent_type},
            "work": self._work(),
            "menu": self._menu(),
        }

    def _menu(self) -> str | None:
        """The title of a menu that somebody has opened at the agent's terminal."""
        observer = self._controller.observer
        if observer.prompt is None or not observer.menu.is_open:
            return None
        return _line(" ".join((observer.prompt.question or observer.prompt.prompt_text).split()))

    def _work(self) -> Json | None:
        """What the agent works on: a task, or something that its human typed."""
        turn, task = self._controller.observer.turns.current, self._engine.running
        if task is not None:
            begun = task.receipts[-1]["at"] if task.receipts else at(task.updated_at)
            started = next((r["at"] for r in task.receipts if r["step"] == "submitted"), begun)
            text = _line(message_text(task.message))
            return {"task": task.id, "from": sender_id(task.sender), "text": text, "since": started}
        if turn is None:
            return None
        began = time.time() - (time.monotonic() - turn.started_at)
        return {"task": None, "from": None, "text": _line(turn.prompt or ""), "since": at(began)}

    def _tell_status(self) -> None:
        status = self._status()
        if _without_times(status) != _without_times(self._told):
            self._told = status
            self.events.add("status", status)


def _checked(kind: type[Request], fields: Json) -> Request:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the frame"
        raise BadMessage(f"{where}: {str(first['msg']).removeprefix('Value error, ').rstrip('.')}.") from None


def _line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first if len(first) <= LINE else first[: LINE - 1] + "…"


def _without_times(status: Json) -> Json:
    """A running task's times are computed again each time, and no change."""
    work = {**(status["work"] or {}), "since": None}
    return {**status, "work": work}
