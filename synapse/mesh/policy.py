"""Who may send to an agent of this machine: `mesh.allow`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from synapse.peers.mesh.documents import read_last
from synapse.peers.mesh.link import Link
from synapse.peers.mesh.names import HEADER, VERSION, kv_stream, kv_subject


class Owners:
    """Whose machines there are. Only the administrator of the mesh can write that. A name may be given to
    another user's machine at any time: what was read is kept only while the connection lasts on which the
    server reports every change. A server that does not report changes is asked each time."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._subject = f"{kv_subject(link.names.members)}.>"
        self._known: dict[str, str] = {}
        self._connection = 0  # on which it was read
        self._changes = 0
        self._is_watching = False

    async def watch(self) -> None:
        await self._link.subscribe(self._subject, self._changed)
        self._is_watching = True

    async def _changed(self, message: Any) -> None:
        """Whatever it says: only what is read from the bucket is believed."""
        self._changes += 1
        self._known.clear()

    async def of(self, machine: str) -> str:
        """The owner's name; empty if nobody is known."""
        connection, changes = self._link.connections, self._changes
        if connection != self._connection:
            self._known, self._connection = {}, connection
        if machine in self._known:
            return self._known[machine]
        owner = await self._read(self._link.names.member(machine))
        is_told = self._is_watching and not self._link.is_denied(self._subject)
        if is_told and (connection, changes) == (self._link.connections, self._changes):
            self._known[machine] = owner
        return owner

    async def _read(self, subject: str) -> str:
        found = await read_last(self._link, kv_stream(self._link.names.members), subject)
        if found is None or found.headers.get(HEADER) != VERSION or not found.data:
            return ""
        return str(json.loads(found.data).get("owner") or "")


def is_allowed(words: Sequence[str], sender: str, is_own: bool, agent: Sequence[str]) -> bool:
    """`agent`: the names that the agent goes by. `is_own`: sender and receiver have one owner."""
    for word in words:
        who, _, which = word.partition(":")
        if which and which.casefold() not in {name.casefold() for name in agent}:
            continue
        if who == "all" or (who == "own" and is_own) or who.casefold() == sender:
            return True
    return False
