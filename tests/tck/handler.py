"""The handler and the engine as they are; the agent is given the directive that a message's id stands for."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from a2a.types import a2a_pb2 as pb

from synapse.base.states import COMPLETED
from synapse.server.standard.handler import A2AHandler, Context, Event
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json, Task
from tests.support.parking import park, reject
from tests.support.scripted_courier import made_artifact
from tests.tck.directives import MESSAGE, STAND_INS, directive

LIMITS = Limits(queue=1000)


class KitEngine(TaskEngine):
    def __init__(self, store: TaskStore, limits: Limits = LIMITS, refusing: str = "") -> None:
        super().__init__(store, limits, refusing)
        self.kit = "1.0"

    def start(self, task: Task) -> Json:
        message = super().start(task)
        return {**message, "parts": [{"type": "text", "text": self.words(message)}]}

    def words(self, message: Json) -> str:
        return directive(message["message_id"], self.kit)


class StandIn(KitEngine):
    """Plays itself what the reference agent cannot; the agent is given the rest."""

    def first(self) -> Task | None:
        while (task := super().first()) is not None:
            word, _, rest = self.words(task.pending[0]).partition(" ")
            if word not in STAND_INS:
                break
            self._play(task, word, rest)
        return task

    def _play(self, task: Task, word: str, rest: str) -> None:
        self._forget(task)
        self.given(task)
        if word == "park":
            park(self, task, {"type": "text", "prompt": rest, "options": None, "default": None})
        elif word == "reject":
            reject(self, task, {"code": "REJECTED", "message": rest})
        else:
            self.store.add_artifact(task.id, made_artifact(word, rest))
            self._end(task, COMPLETED)


class KitHandler(A2AHandler):
    """What no agent in a terminal can do, it does itself: answer with a bare message."""

    async def on_message_send(self, params: pb.SendMessageRequest, context: Context) -> pb.Task | pb.Message:
        if directive(params.message.message_id, "1.0") == MESSAGE:
            return _message(params)
        return await super().on_message_send(params, context)

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: Context
    ) -> AsyncGenerator[Event, None]:
        if directive(params.message.message_id, "1.0") == MESSAGE:
            yield _message(params)
            return
        async for event in super().on_message_send_stream(params, context):
            yield event


def _message(params: pb.SendMessageRequest) -> pb.Message:
    return pb.Message(
        message_id=f"answer-{params.message.message_id}",
        context_id=params.message.context_id or "a-context",
        role=pb.Role.ROLE_AGENT,
        parts=[pb.Part(text="Direct message response")],
    )
