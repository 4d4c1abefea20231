"""`callback_url`: an address that receives the result of a message when its task has ended.

The address is stored with the task, so that a new host of the same agent still knows it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from synapse.base.states import FAILED, REJECTED
from synapse.event_emitter import SSEEvent
from synapse.tasks.task import BadMessage, Json, Task

KEY = "callback_url"


@dataclass(frozen=True)
class Callbacks:
    """`check_url` raises ValueError for an address that must not be called. `post` checks the address again
    and sends a document in a task of its own."""

    check_url: Callable[[str], Awaitable[object]]
    post: Callable[[str, Json], None]

    async def check(self, url: str) -> None:
        try:
            await self.check_url(url)
        except ValueError as error:
            raise BadMessage(f"callback_url: {error}") from error

    def task_changed(self, task: Task, _: SSEEvent) -> None:
        url = task.metadata.get(KEY)
        if task.ended and isinstance(url, str):
            self.post(url, answer(task))


def answer(task: Task) -> Json:
    """The result of a message so far, as `GET /response/{request_id}` returns it."""
    state = FAILED if task.state == REJECTED else task.state
    found: Json = {"request_id": task.id, "status": state, "response": task.reply}
    more = {"prompt": task.prompt, "error": task.error, "note": task.note}
    return found | {key: value for key, value in more.items() if value}
