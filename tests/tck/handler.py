"""The handler and the engine as they are; the agent is given the directive that a message's id stands for."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from a2a.server.context import ServerCallContext
from a2a.types import a2a_pb2 as pb

from synapse.a2a_compat import A2AHandler, Event
from synapse.task import Json, Task
from synapse.tasks import TaskEngine
from tests.tck.directives import MESSAGE, directive


class KitEngine(TaskEngine):
    kit = "1.0"

    def start(self, task: Task) -> Json:
        message = super().start(task)
        words = directive(message["message_id"], self.kit)
        return {**message, "parts": [{"type": "text", "text": words}]}


class KitHandler(A2AHandler):
    """What no agent in a terminal can do, it does itself: answer with a bare message."""

    async def on_message_send(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> pb.Task | pb.Message:
        if directive(params.message.message_id, "1.0") == MESSAGE:
            return _message(params)
        task: pb.Task = await super().on_message_send(params, context)
        return task

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
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
