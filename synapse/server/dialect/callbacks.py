"""`callback_url`: an address that receives the result of a message when its task has ended.

The address is stored with the task, so that a new host of the same agent still knows it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from synapse.base.states import FAILED, REJECTED
from synapse.event_emitter import SSEEvent
from synapse.tasks.task import BadMessage, Json, Task

KEY = "callback_url"


class Callbacks:
    """`check` raises `refused` for an address that is not called; `post` sends a document, off the task's
    path, and checks the address again."""

    def __init__(
        self,
        check: Callable[[str], Awaitable[object]],
        post: Callable[[str, Json], None],
        refused: type[Exception] = ValueError,
    ) -> None:
        self._check = check
        self._post = post
        self._refused = refused

    async def check(self, url: str) -> None:
        try:
            await self._check(url)
        except self._refused as error:
            raise BadMessage(f"callback_url: {error}") from error

    def task_changed(self, task: Task, _: SSEEvent) -> None:
        url = task.metadata.get(KEY)
        if task.ended and isinstance(url, str):
            self._post(url, answer(task))


def answer(task: Task) -> Json:
    """The result of a message so far, as `GET /response/{request_id}` returns it."""
    found: Json = {
        "request_id": task.id,
        "status": FAILED if task.state == REJECTED else task.state,
        "response": task.reply,
    }
    return found | {key: value for key, value in (("prompt", task.prompt), ("error", task.error)) if value}
