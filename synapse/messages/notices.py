"""Sends the reply of a task to an agent that did not wait for it, as a notice that needs no answer.

The agent that did the task sends it. The request id of a notice is derived from the task's id, so that it
arrives once: a new host sends the notices of the last minutes again.
"""

import asyncio
import logging
import time
from dataclasses import dataclass

from synapse.base.states import COMPLETED, FAILED, REJECTED
from synapse.errors import SynapseError
from synapse.event_emitter import SSEEvent
from synapse.peers.directory import Directory
from synapse.peers.origin import Origin
from synapse.tasks.engine import TaskEngine
from synapse.tasks.loop_guard import KEY, Chain, wants_notice
from synapse.tasks.task import Task

logger = logging.getLogger(__name__)

TOLD = (COMPLETED, FAILED, REJECTED)
AGAIN = 600.0  # seconds: a new host sends the notices of this time again
PRIORITY = 2


@dataclass(eq=False, repr=False)
class Notices:
    """`me` is the agent that did the tasks; the directory sends in its name."""

    engine: TaskEngine
    directory: Directory
    me: Origin

    def __post_init__(self) -> None:
        self._under_way: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Send again what an earlier host may not have sent."""
        for task in self.engine.store.list_tasks(states=TOLD, since=time.time() - AGAIN):
            self.task_changed(task)

    def task_changed(self, task: Task, _: SSEEvent | None = None) -> None:
        wanted = task.state in TOLD and wants_notice(task.metadata, task.message.get("metadata"))
        if wanted and (task.sender or {}).get("id"):
            sending = asyncio.ensure_future(self._send(task))
            self._under_way.add(sending)
            sending.add_done_callback(self._under_way.discard)

    async def drain(self) -> None:
        """Until the notices have arrived. The next host of this agent sends what is left."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _send(self, task: Task) -> None:
        peer = self.directory.author(task.sender or {})
        if peer is None:
            return  # the sender has ended
        chain = Chain.of(task.metadata, task.message.get("metadata")).then(self.me.id, waits=False)
        try:
            metadata = {KEY: chain.to_dict()}
            await peer.send(notice(task), priority=PRIORITY, request_id=f"reply/{task.id}", metadata=metadata)
        except SynapseError as error:
            logger.warning("the reply to task %s did not reach %s: %s", task.id, peer.name, error)


def notice(task: Task) -> str:
    why = (task.error or {}).get("message") or task.note
    return notice_text(task.short_id, task.state, task.reply, str(why))


def notice_text(short: str, state: str, text: str, why: str) -> str:
    if state != COMPLETED:
        text = f"it was not done: {state}, {why or 'no reason was given'}"
    head = f"Reply to your message {short} (for your information, it needs no answer):"
    return f"{head}\n\n{text}" if "\n" in text.strip() else f"{head} {text}"
