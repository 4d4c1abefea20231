"""`callback_url`: an address that receives the result of a message when its task has ended.

The address is stored with the task, so that a new host of the same agent still knows it.
"""

from synapse.base.states import FAILED, REJECTED
from synapse.event_emitter import SSEEvent
from synapse.server.push import Check, DocumentSender
from synapse.tasks.outbox import Document
from synapse.tasks.store import TaskStore
from synapse.tasks.task import BadMessage, Json, Task

KEY = "callback_url"


class Callbacks(DocumentSender):
    """`check_url` raises ValueError for an address that must not be called."""

    def __init__(self, store: TaskStore, check_url: Check) -> None:
        super().__init__(store, "callback", check_url)
        store.add_sender(self)

    async def accept(self, url: str) -> None:
        """Raises BadMessage for an address that must not be called."""
        try:
            await self.check(url)
        except ValueError as error:
            raise BadMessage(f"callback_url: {error}") from error

    def owed(self, task: Task, event: SSEEvent) -> list[Document]:
        url = task.metadata.get(KEY)
        if not task.ended or event.event_type != "status" or not isinstance(url, str):
            return []
        return [Document(task.id, url, {}, answer(task))]


def answer(task: Task) -> Json:
    """The result of a message so far, as `GET /response/{request_id}` returns it."""
    state = FAILED if task.state == REJECTED else task.state
    found: Json = {"request_id": task.id, "status": state, "response": task.reply}
    more = {"prompt": task.prompt, "error": task.error, "note": task.note}
    return found | {key: value for key, value in more.items() if value}
