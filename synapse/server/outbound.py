"""Who is told of an agent's tasks by HTTP, whichever door they came through: by push or by callback."""

from __future__ import annotations

from synapse.base.urls import Pinned, UrlRefused, pin_url_async
from synapse.event_emitter import SSEEvent
from synapse.server.dialect.callbacks import Callbacks
from synapse.server.push import PushSender
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, Task


class Outbound:
    """One for an engine. There before the doors: a new host tells what the one before it has promised."""

    def __init__(self, engine: TaskEngine, allow_private: bool) -> None:
        async def check(url: str) -> Pinned:
            return await pin_url_async(url, allow_private)

        async def check_callback(url: str) -> Pinned:
            return await pin_url_async(url, allow_private, allow_loopback=True)

        self.push = PushSender(engine.store, check, _notification)
        self._posts = PushSender(engine.store, check_callback, lambda *_: None)
        self.callbacks = Callbacks(engine, check_callback, self._posts.post_soon, UrlRefused)

    async def close(self) -> None:
        await self.push.close()
        await self._posts.close()


def _notification(task: Task, event: SSEEvent, version: str) -> Json | None:
    from synapse.server.standard.convert import (
        notification,  # the standard's types, of which few agents have need
    )

    return notification(task, event, version)
