"""The host feature that reports task changes to other servers: push notifications and callbacks."""

import functools

from synapse.base.urls import pin_url_async
from synapse.event_emitter import SSEEvent
from synapse.server.dialect.callbacks import Callbacks
from synapse.server.push import PushSender
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json, Task


class Outbound:
    """One for each agent, opened before the listeners: a new host sends what the previous one still owed."""

    def __init__(self, store: TaskStore, allow_private: bool) -> None:
        check = functools.partial(pin_url_async, allow_private=allow_private)
        check_callback = functools.partial(check, allow_loopback=True)
        self.push = PushSender(store, check, _notification)
        self._posts = PushSender(store, check_callback, lambda *_: None)
        self.callbacks = Callbacks(check_callback, self._posts.post_soon)

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        self.callbacks.task_changed(task, event)
        self.push.task_changed(task, event)

    async def close(self) -> None:
        await self.push.close()
        await self._posts.close()


def _notification(task: Task, event: SSEEvent, version: str) -> Json | None:
    from synapse.server.standard.convert import notification  # few agents need the standard's types

    return notification(task, event, version)
