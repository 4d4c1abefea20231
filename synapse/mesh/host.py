"""The mesh in the host of one agent: publishes the agent, takes its mail, sends the events of its tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from synapse import __version__
from synapse.delivery.questions import Questions
from synapse.event_emitter import SSEEvent
from synapse.mesh.mailbox import lanes
from synapse.mesh.outgoing import Outgoing
from synapse.mesh.presence import Presence
from synapse.mesh.requests import Requests
from synapse.mesh.watch import RosterWatch, fail_mailbox
from synapse.peers.mesh.link import MeshError, linked
from synapse.peers.mesh.membership import Membership
from synapse.peers.mesh.names import CALL, TASK, agent_key
from synapse.peers.mesh.roster import MeshAgent
from synapse.peers.remote import never_wait
from synapse.registry import AgentRegistry
from synapse.server.about import About
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parts:
    """What the mesh needs of an agent."""

    about: About
    engine: TaskEngine
    questions: Questions
    registry: AgentRegistry
    status: Callable[[], str]
    allow: Sequence[str]
    keeps_tasks: bool


class MeshHost:
    """Made by `MeshHost.open`; `drain` ends it."""

    def __init__(self, member: Membership, parts: Parts) -> None:
        self._member = member
        self._parts = parts
        self._key = agent_key(parts.about.agent_id)
        self._stack = AsyncExitStack()
        self._running: list[asyncio.Task[None]] = []
        self._reading: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        parts = self._parts
        never_wait()
        self._link = await self._stack.enter_async_context(linked(self._member))
        self._presence = Presence(self._link, self._entry)
        self._outgoing = Outgoing(self._link, parts.engine.store)
        requests = Requests(
            self._link,
            parts.engine,
            parts.questions,
            self._outgoing,
            key=self._key,
            called=(parts.about.name, parts.about.agent_type),
            allow=parts.allow,
        )
        watch = RosterWatch(self._link, parts.registry, self._outgoing, parts.keeps_tasks)
        await requests.open()
        calls = self._link.names.subject(CALL, self._member.machine, self._key, "*")
        await self._link.subscribe(calls, requests.take_call)
        self._outgoing.open()
        mailbox = f"{self._link.names.prefix}.{TASK}.{self._member.machine}.{self._key}"
        parts.about.mesh_url = f"{self._member.urls[0]}/{mailbox}"
        reading = [lane.run() for lane in lanes(self._link, self._key, self._room, requests.take_task)]
        self._reading = [self._start(work) for work in reading]
        for work in (self._presence.run(), self._outgoing.run(), watch.run()):
            self._running.append(self._start(work))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        task.add_done_callback(_report)
        return task

    def _room(self) -> int:
        """For ordinary messages. The rest of the queue is left to local senders and to urgent ones."""
        engine = self._parts.engine
        return max(engine.limits.queue // 2, 1) - len(engine.waiting)

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        self._outgoing.task_changed(task, event)

    def status_changed(self, status: str) -> None:
        self._presence.changed()

    async def drain(self) -> None:
        """The agent has ended: no more mail. What is in the mailbox fails, unless the agent is to return."""
        await _cancel(self._reading)
        try:
            await self._presence.remove()
            if not self._parts.keeps_tasks and self._link.is_open:
                await fail_mailbox(self._link, self._outgoing, self._key)
        except MeshError as error:
            logger.warning("the mesh was not told that the agent has ended: %s", error)
        await self._outgoing.drain()

    async def close(self) -> None:
        await _cancel([*self._reading, *self._running])
        await self._stack.aclose()

    async def leave(self) -> None:
        """The machine leaves the mesh, and the agent goes on."""
        self._parts.about.mesh_url = ""
        await _cancel(self._reading)
        try:
            await self._presence.remove()
        except MeshError as error:
            logger.info("the entry of the agent expires by itself: %s", error)
        await self.close()

    def _entry(self) -> MeshAgent:
        about = self._parts.about
        return MeshAgent(
            id=about.agent_id,
            key=self._key,
            name=about.name,
            type=about.agent_type,
            machine=self._member.machine,
            directory=about.working_dir,
            status=self._parts.status(),
            skills=(about.agent_type, "interrupt"),
            accepts=tuple(self._parts.allow),
            version=__version__,
            instance=self._member.instance,
        )


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a part of the mesh has stopped", exc_info=error)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
