"""The host feature that takes part in the mesh while this machine has joined one. Until then it costs a look
for a file every few seconds, and loads nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from synapse.base import files, paths
from synapse.base.loading import load
from synapse.errors import SynapseError
from synapse.event_emitter import SSEEvent
from synapse.peers.mesh import membership
from synapse.tasks.task import Task

if TYPE_CHECKING:
    from synapse.mesh.host import MeshHost, Parts

logger = logging.getLogger(__name__)

LOOK = 2.0  # seconds between two looks for the file


class MeshSwitch:
    """`parts` makes what the mesh needs of the agent, when it is needed."""

    def __init__(self, parts: Callable[[], Parts]) -> None:
        self._parts = parts
        self._host: MeshHost | None = None
        self._looking: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._looking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        known = 0
        while True:
            changed = files.changed_ns(paths.mesh_file())
            if changed != known:
                known = changed
                try:
                    await self._change()
                except SynapseError as error:
                    logger.warning("the mesh is not used: %s", error)
                except Exception:
                    logger.exception("the mesh is not used")
            await asyncio.sleep(LOOK)

    async def _change(self) -> None:
        if self._host is not None:
            leaving, self._host = self._host, None
            await leaving.leave()
        member = membership.load_membership()
        if member is None:
            return
        from synapse.peers.mesh.link import load_client

        await load_client()
        await load("synapse.mesh.host")
        from synapse.mesh.host import MeshHost

        host = MeshHost(member, self._parts())
        await host.open()
        self._host = host

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        if self._host is not None:
            self._host.task_changed(task, event)

    def status_changed(self, status: str) -> None:
        if self._host is not None:
            self._host.status_changed(status)

    async def drain(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self._host is not None:
            await self._host.drain()

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self._host is not None:
            await self._host.close()
