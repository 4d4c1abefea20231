"""Publishes an agent in the bucket of the mesh, renews its entry before it expires, removes it at the end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

from synapse.peers.mesh.link import Link, MeshError
from synapse.peers.mesh.names import KV_OPERATION, RENEW
from synapse.peers.mesh.roster import MeshAgent

logger = logging.getLogger(__name__)

AGAIN = 1.0  # seconds after a failure
AT_MOST_EVERY = 0.5  # seconds between two entries


class Presence:
    """`entry` makes the entry as it is now."""

    def __init__(self, link: Link, entry: Callable[[], MeshAgent]) -> None:
        self._link = link
        self._entry = entry
        self._changed = asyncio.Event()
        link.on_open.append(self._changed.set)

    def changed(self) -> None:
        self._changed.set()

    async def run(self) -> None:
        while True:
            try:
                await self._link.ready(timeout=3600)
                await self._publish()
            except MeshError as error:  # a server that has just started makes its bucket anew
                logger.info("the agent cannot be published: %s", error)
                await asyncio.sleep(AGAIN)
                continue
            self._changed.clear()
            try:
                await asyncio.sleep(AT_MOST_EVERY)
                async with asyncio.timeout(RENEW - AT_MOST_EVERY):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _publish(self) -> None:
        agent = self._entry()
        document = {key: value for key, value in agent.to_dict().items() if key not in ("stale", "seen")}
        await self._link.publish(self._subject(agent), json.dumps(document, ensure_ascii=False).encode())

    def _subject(self, agent: MeshAgent) -> str:
        return self._link.names.entry(agent.machine, agent.key)

    async def remove(self) -> None:
        self._link.on_open.remove(self._changed.set)
        if self._link.is_open:
            await self._link.publish(self._subject(self._entry()), b"", headers={KV_OPERATION: "DEL"})
