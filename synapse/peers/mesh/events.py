"""The events of a task on another machine, in order, from where the reader was.

They come live, and they are stored: after a lost connection, a gap or a silence the stream of this machine's
events is read. Each has the number that its agent's store gave it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from synapse.peers.mesh.documents import read_message, unpacked
from synapse.peers.mesh.link import Link, MeshError
from synapse.peers.mesh.names import EVENT, HEADER, VERSION
from synapse.peers.task import Json

SILENCE = 5.0  # seconds without an event after which the stream is read


class EventReader:
    """`snapshot` asks the agent for the whole task: `{"number": n, "task": …}`."""

    def __init__(
        self, link: Link, machine: str, key: str, snapshot: Callable[[], Awaitable[Json]] | None = None
    ) -> None:
        self._link = link
        self._subject = link.names.subject(EVENT, link.member.machine, key, machine)
        self._snapshot = snapshot
        self._news: asyncio.Queue[bytes | None] = asyncio.Queue()  # None: read the stream
        self._held: dict[int, Json] = {}  # events that came too early
        self._last = 0
        self._sequence = 0
        self._end: Callable[[], Awaitable[None]] | None = None

    async def __aenter__(self) -> EventReader:
        self._end = await self._link.subscribe(self._subject, self._take)
        self._link.on_open.append(self._reconnected)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._link.on_open.remove(self._reconnected)
        if self._end is not None:
            await self._end()

    def _reconnected(self) -> None:
        self._news.put_nowait(None)

    async def _take(self, message: Any) -> None:
        # The subject too: a machine can let the server deliver a message of its own mailbox here, with its
        # header, and the server then names the subject on which that was sent.
        if message.subject == self._subject and (message.headers or {}).get(HEADER) == VERSION:
            self._news.put_nowait(message.data)

    @property
    def has_some(self) -> bool:
        """Whether an event was found."""
        return bool(self._held or self._last)

    async def next(self) -> Json:
        """The next event, or a document without a number: a refusal, or the answer to a call."""
        while True:
            if (found := self._held.pop(self._last + 1, None)) is not None:
                self._last += 1
                return found
            try:
                async with asyncio.timeout(SILENCE):
                    data = await self._news.get()
            except TimeoutError:
                data = None
            found = await self._decoded(data) if data is not None else await self.catch_up()
            if found is not None:
                return found

    async def whole(self) -> Json:
        """The whole task as its agent has it now; older events are skipped."""
        assert self._snapshot is not None
        found = await self._snapshot()
        self._sorted(found)
        return found

    async def catch_up(self) -> Json | None:
        """Read what is stored. Returns what `next` is to return, if it is no event in its turn."""
        try:
            while (
                stored := await read_message(
                    self._link,
                    self._link.names.events(self._link.member.machine),
                    self._subject,
                    self._sequence + 1,
                )
            ) is not None:
                self._sequence = stored.sequence
                if stored.headers.get(HEADER) == VERSION:
                    found = await self._decoded(stored.data)
                    if found is not None:
                        return found
            if self._held and self._last + 1 not in self._held and self._snapshot is not None:
                return self._sorted(await self._snapshot())
        except (MeshError, TimeoutError):
            pass  # the connection is gone again: the next one calls this
        return None

    async def _decoded(self, data: bytes) -> Json | None:
        try:
            return self._sorted(await unpacked(self._link, data))
        except (ValueError, RecursionError, MeshError):
            return None  # what cannot be read is as good as lost: the numbers show a gap

    def _sorted(self, document: Json) -> Json | None:
        number = document.get("number")
        if not isinstance(number, int):
            return document
        if "task" in document:  # the whole task, as it was then
            if number < self._last:
                return None
            self._last = number
            self._held = {n: held for n, held in self._held.items() if n > number}
            return document
        if number > self._last:
            self._held[number] = document
        return None
