"""Replies to messages that an agent has sent without waiting: typed to it as a notice that wants no answer.

Told by the agent that has done the task. A notice carries the task's id as its request, so that it comes once
however often it is sent: a host that takes the place of another sends those of the last minutes again.
"""

from __future__ import annotations

import asyncio
import logging
import time

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
AGAIN = 600.0  # seconds: how far a new host looks back
PRIORITY = 2


class Notices:
    """`me` is the agent whose tasks these are; the directory sends in its name."""

    def __init__(self, engine: TaskEngine, directory: Directory, me: Origin) -> None:
        self._engine = engine
        self._directory = directory
        self._me = me
        self._under_way: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Send again what a host before this one may not have sent."""
        since = time.time() - AGAIN
        for task in self._engine.store.list_tasks(states=TOLD, since=since):
            self._tell(task)

    def task_changed(self, task: Task, _: SSEEvent) -> None:
        self._tell(task)

    def _tell(self, task: Task) -> None:
        wanted = task.state in TOLD and wants_notice(task.metadata, task.message.get("metadata"))
        if wanted and (task.sender or {}).get("id"):
            sending = asyncio.ensure_future(self._send(task))
            self._under_way.add(sending)
            sending.add_done_callback(self._under_way.discard)

    async def _send(self, task: Task) -> None:
        """To whoever has sent the task, if it still runs."""
        peer = self._directory.author(task.sender or {})
        if peer is None:
            return
        chain = Chain.of(task.metadata, task.message.get("metadata")).then(self._me.id, waits=False)
        try:
            await peer.send(
                notice(task),
                priority=PRIORITY,
                request_id=f"reply/{task.id}",
                metadata={KEY: chain.to_dict()},
            )
        except SynapseError as error:
            logger.warning("the reply to task %s did not reach %s: %s", task.id, peer.name, error)


def notice(task: Task) -> str:
    """What is typed."""
    text = task.reply
    if task.state != COMPLETED:
        why = (task.error or {}).get("message") or task.note or "no reason was given"
        text = f"it was not done: {task.state}, {why}"
    head = f"Reply to your message {task.short_id} (for your information, it needs no answer):"
    return f"{head}\n\n{text}" if "\n" in text.strip() else f"{head} {text}"
