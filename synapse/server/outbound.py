"""The host feature that reports task changes to other servers: push notifications and callbacks."""

import asyncio
import functools

from synapse.base.urls import pin_url_async
from synapse.event_emitter import SSEEvent
from synapse.server.dialect.callbacks import Callbacks
from synapse.server.push import PushSender
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json, Task


class Outbound:
    """One for each agent, made before the store hands over what the previous host still owed."""

    def __init__(self, store: TaskStore, allow_private: bool) -> None:
        check = functools.partial(pin_url_async, allow_private=allow_private)
        self.push = PushSender(store, check, _notification)
        self.callbacks = Callbacks(store, functools.partial(check, allow_loopback=True))

    async def drain(self) -> None:
        await asyncio.gather(self.push.drain(), self.callbacks.drain())

    async def close(self) -> None:
        await self.push.close()
        await self.callbacks.close()


def _notification(task: Task, event: SSEEvent, version: str) -> Json | None:
    from synapse.server.standard.convert import notification  # few agents need the standard's types

    return notification(task, event, version)
