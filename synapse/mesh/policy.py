"""Who may send to an agent of this machine: `mesh.allow`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from synapse.peers.mesh.documents import read_last
from synapse.peers.mesh.link import Link
from synapse.peers.mesh.names import HEADER, VERSION, kv_stream


class Owners:
    """Whose machines there are. Only the administrator of the mesh can write that. Nothing is kept: a name
    may be given to another user's machine at any time."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def of(self, machine: str) -> str:
        """The owner's name; empty if nobody is known."""
        names = self._link.names
        found = await read_last(self._link, kv_stream(names.members), names.member(machine))
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
