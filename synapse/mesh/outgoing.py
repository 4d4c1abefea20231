"""Publishes the events of tasks that came over the mesh to the machines that sent them, in order.

What cannot be published waits here. If too much waits, or an earlier host may have published a part, the
whole task is published instead.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

from synapse.event_emitter import SSEEvent
from synapse.peers.mesh.documents import packed
from synapse.peers.mesh.link import PAUSE, Link, MeshError, stamped
from synapse.peers.mesh.names import EVENT, LARGEST_INLINE, MESSAGE_ID
from synapse.server.dialect.stream import told
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json, Task

logger = logging.getLogger(__name__)

MESH = "x-synapse-mesh"  # in a task's metadata: where it came from
AGAIN = 3600.0  # seconds: a new host publishes what ended in this time again
MOST_WAITING = 200  # events of a task
BATCH = 100  # tasks whose events are published at the same time
LONGEST_PAUSE = 5.0


def came_from(task: Task) -> str:
    """The machine that sent the task; empty if it did not come over the mesh."""
    held = task.metadata.get(MESH)
    return str(held.get("machine") or "") if isinstance(held, dict) else ""


class Outgoing:
    def __init__(self, link: Link, store: TaskStore) -> None:
        self._link = link
        self._store = store
        self._waiting: dict[str, tuple[Task, list[SSEEvent]]] = {}  # an empty list: the whole task
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def open(self) -> None:
        """Publish again what an earlier host may not have published."""
        recent = self._store.list_tasks(since=time.time() - AGAIN, limit=1000)
        for task in [*self._store.live(), *recent]:
            self.whole(task)

    def whole(self, task: Task) -> None:
        if came_from(task):
            self._waiting[task.id] = (task, [])
            self._wake()

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        if not came_from(task):
            return
        known = self._waiting.get(task.id)
        if known is None:
            self._waiting[task.id] = (task, [event])
        elif known[1] and len(known[1]) < MOST_WAITING:
            known[1].append(event)
        else:
            self._waiting[task.id] = (task, [])
        self._wake()

    def _wake(self) -> None:
        self._idle.clear()
        self._news.set()

    async def drain(self) -> None:
        await self._idle.wait()

    async def run(self) -> None:
        pause = PAUSE
        while True:
            if not self._waiting:
                self._idle.set()
                self._news.clear()
                await self._news.wait()
            batch = [self._waiting.pop(task_id) for task_id in list(self._waiting)[:BATCH]]
            batch.sort(key=lambda held: -held[0].priority)
            # All at once: the server stores them in the order in which they were sent.
            done = await asyncio.gather(*(self._publish(*held) for held in batch), return_exceptions=True)
            failed = [(held[0], error) for held, error in zip(batch, done, strict=True) if error is not None]
            for task, error in failed:
                if not isinstance(error, MeshError | TimeoutError):
                    raise error
                logger.info("the events of task %s wait: %s", task.id, error)
                self._waiting[task.id] = (task, [])
            if failed:
                await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE) if failed else PAUSE

    async def _publish(self, task: Task, events: list[SSEEvent]) -> None:
        machine = came_from(task)
        if not events:
            document: Json = {"number": task.sequence, "task": task.to_dict()}
            await self._send(machine, task.id, document, f"{task.id}/{task.sequence}/task")
            return
        await asyncio.gather(
            *(self._send(machine, task.id, _numbered(e), f"{task.id}/{e.number}") for e in events)
        )

    async def tell_at_once(self, task: Task) -> None:
        """The first events of a task that was just stored: its sender waits for them. They are published
        again with the others, and the server knows them by their ids."""
        for event in self._waiting.get(task.id, (task, []))[1]:
            data = json.dumps(_numbered(event), ensure_ascii=False).encode("utf-8", "replace")
            if len(data) <= LARGEST_INLINE:
                headers = stamped(**{MESSAGE_ID: f"{task.id}/{event.number}"})
                await self._link.send_at_once(self.subject(came_from(task), task.id), data, **headers)

    async def _send(self, machine: str, key: str, document: Json, message_id: str) -> None:
        payload = await packed(self._link, machine, document)
        await self._link.publish(self.subject(machine, key), payload, message_id)

    async def answer(self, machine: str, key: str, document: Json) -> None:
        """A document that is no event: a refusal, or the answer to a call."""
        await self._send(machine, key, document, f"{key}/answer")

    def subject(self, machine: str, key: str) -> str:
        return self._link.names.subject(EVENT, machine, key, self._link.member.machine)


def _numbered(event: SSEEvent) -> Json:
    return {"number": event.number, "event": event.event_type, "data": told(event)}


def refusal(error: Any) -> Json:
    return {"refused": {"code": str(getattr(error, "code", "REFUSED")), "detail": str(error)}}
