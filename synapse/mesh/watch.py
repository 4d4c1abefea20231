"""One host of this machine keeps the file of the mesh's agents, and fails what nobody will take.

The host that holds the lock does it; when it ends, the kernel frees the lock and another host gets it.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from dataclasses import replace
from typing import Any

from synapse.base import paths
from synapse.mesh.outgoing import Outgoing
from synapse.peers.mesh import membership
from synapse.peers.mesh.documents import Stored, read_message
from synapse.peers.mesh.link import Link, MeshError
from synapse.peers.mesh.names import ENTRY_TTL, HEADER, VERSION, agent_key, kv_subject, task_id
from synapse.peers.mesh.roster import Entries, Roster, entry_of, read_bucket, with_stale
from synapse.registry import AgentRegistry
from synapse.tasks.task import GONE, Json

logger = logging.getLogger(__name__)

TRY = 5.0  # seconds between two attempts to get the lock
LOOK = 1.0  # seconds between two writes of the file
BATCH = 100  # messages that are failed at the same time
SWEEP = 10.0  # seconds between two looks for messages that nobody takes


class RosterWatch:
    """`keeps_tasks`: messages for an agent that has ended wait for its return."""

    def __init__(self, link: Link, registry: AgentRegistry, outgoing: Outgoing, keeps_tasks: bool) -> None:
        self._link = link
        self._registry = registry
        self._outgoing = outgoing
        self._keeps_tasks = keeps_tasks
        self._roster = Roster(link.member)
        self._entries: Entries = {}
        self._seen: dict[str, float] = {}  # by key: when its last entry came, by the monotonic clock
        self._is_complete = False

    async def run(self) -> None:
        path = os.path.join(paths.private_dir(membership.folder()), "watch.lock")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(TRY)
            await self._watch()
        finally:
            os.close(descriptor)

    async def _watch(self) -> None:
        self._link.on_open.append(self._reconnected)
        end = await self._link.subscribe(f"{kv_subject(self._link.names.agents)}.>", self._take)
        swept = time.monotonic()
        try:
            while True:
                try:
                    await self._look()
                    if time.monotonic() - swept > SWEEP:
                        swept = time.monotonic()
                        await self._sweep()
                except (MeshError, OSError, TimeoutError) as error:
                    logger.info("the agents of the mesh cannot be read: %s", error)
                await asyncio.sleep(LOOK)
        finally:
            self._link.on_open.remove(self._reconnected)
            await end()

    def _reconnected(self) -> None:
        self._is_complete = False

    async def _take(self, message: Any) -> None:
        bucket = self._link.names.agents
        key, agent = entry_of(message.subject, message.headers, message.data, bucket)
        if agent is None and (message.headers or {}).get(HEADER) != VERSION:
            return
        self._entries[key] = agent
        self._seen[key] = time.monotonic()

    async def _look(self) -> None:
        if not self._link.is_open:
            self._roster.touch()
            return
        if not self._is_complete:
            self._is_complete = True
            self._entries = await read_bucket(self._link)
            self._seen = dict.fromkeys(self._entries, time.monotonic())
        expired = [key for key, at in self._seen.items() if time.monotonic() - at > ENTRY_TTL]
        for key in expired:
            del self._seen[key], self._entries[key]
        now = time.time()
        fresh: Entries = {key: replace(a, seen=now) if a else None for key, a in self._entries.items()}
        self._roster.write(with_stale(fresh, self._roster.known()))

    async def _sweep(self) -> None:
        """Fail the messages for agents of this machine that have ended, killed perhaps."""
        if self._keeps_tasks:
            return
        alive = {agent_key(agent_id) for agent_id in self._registry.list_agents()}
        for key in await waiting_keys(self._link) - alive:
            if not any(agent_key(known) == key for known in self._registry.list_agents()):
                await fail_mailbox(self._link, self._outgoing, key)


async def waiting_keys(link: Link) -> set[str]:
    """The agents for which messages wait in this machine's mailboxes."""
    me = link.member.machine
    told = await link.api(f"STREAM.INFO.{link.names.mail(me)}", {"subjects_filter": ">"})
    subjects = (told.get("state") or {}).get("subjects") or {}
    found = (link.names.parse(subject) for subject in subjects)
    return {address.key for address in found if address is not None and address.machine == me}


async def fail_mailbox(link: Link, outgoing: Outgoing, key: str) -> None:
    """Tell the senders of all messages for an agent that it has ended, and remove them."""
    me = link.member.machine
    stream, subject = link.names.mail(me), f"{link.names.prefix}.*.{me}.{key}.from.*"
    sequence = 0
    while True:
        found: list[Stored] = []
        while len(found) < BATCH and (message := await read_message(link, stream, subject, sequence + 1)):
            found.append(message)
            sequence = message.sequence
        if not found:
            return
        await asyncio.gather(*(_fail(link, outgoing, key, message) for message in found))


async def _fail(link: Link, outgoing: Outgoing, key: str, message: Stored) -> None:
    address = link.names.parse(message.subject)
    if address is not None:
        request = message.headers.get("Nats-Msg-Id", "").partition(f"{address.sender}/{key}/")[2]
        task = task_id(address.sender, key, request)
        error = {**GONE, "message": "the agent ended before it took the message from its mailbox"}
        failed: Json = {"id": task, "status": "failed", "state": "failed", "error": error}
        await outgoing.answer(address.sender, task, {"number": 1, "task": failed})
    stream = link.names.mail(link.member.machine)
    await link.api(f"STREAM.MSG.DELETE.{stream}", {"seq": message.sequence, "no_erase": True})
