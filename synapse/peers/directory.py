"""Every agent that a message can be sent to, local or external."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from synapse.errors import NoSuchAgent, SynapseError, TargetError
from synapse.peers.base import Listed, Peer, Source
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.peer import ExternalSource
from synapse.peers.local import LocalSource
from synapse.peers.origin import Origin
from synapse.peers.task import Json
from synapse.registry import ALL, ALL_HERE, AgentRegistry, Entry

_BROADCASTS = (
    Listed(ALL, "every running agent"),
    Listed(ALL_HERE, "every agent that runs in this directory"),
)


def open_directory(
    origin: Origin | None = None,
    *,
    me: Entry | None = None,
    startable: Iterable[str] = (),
    local: AgentRegistry | None = None,
    external: ExternalAgentRegistry | None = None,
) -> Directory:
    """`me` is the registry entry of the agent that asks; `startable` are agents that a message starts."""
    registry = local or AgentRegistry()
    sources: list[Source] = [
        LocalSource(registry, origin, me),
        ExternalSource(ExternalClient(external), registry, origin),
    ]
    return Directory(sources, startable, str(me["name"]) if me else "")


class Directory:
    """The first source that knows a name has it. `myself` is the name of the agent that asks."""

    def __init__(self, sources: Sequence[Source], startable: Iterable[str] = (), myself: str = "") -> None:
        self._sources = {source.kind: source for source in sources}
        self._startable = tuple(startable)
        self._myself = myself
        self._seen: list[int] = []

    def find(self, name: str) -> Peer:
        """Raises NoSuchAgent, or TargetError if the name could mean several."""
        errors: list[TargetError] = []
        for source in self._sources.values():
            try:
                return source.find(name)
            except TargetError as error:
                errors.append(error)
        raise errors[0]

    def at(self, address: str, name: str) -> Peer:
        """The peer of an address that was stored; `name` is what it was called."""
        kind, _, place = address.partition(":")
        if kind not in self._sources:
            raise NoSuchAgent(f"{name} cannot be reached: nothing here knows the address {address!r}.")
        return self._sources[kind].at(place, name)

    def author(self, sender: Json) -> Peer | None:
        found = (source.author(sender) for source in self._sources.values())
        return next(filter(None, found), None)

    def everybody(self, name: str = ALL) -> list[Peer]:
        here = name.casefold() == ALL_HERE
        found = [peer for source in self._sources.values() for peer in source.everybody(here)]
        if here and not found:
            raise TargetError("no other agent runs in this directory: `all` reaches those in other ones.")
        if not found:
            raise TargetError("no other agent is running: `synapse start <profile>` starts one.")
        return found

    def names(self) -> list[str]:
        names = set(self._startable).union(*(source.names() for source in self._sources.values()))
        if any(source.everybody(here=False) for source in self._sources.values()):
            names |= {ALL, ALL_HERE}
        return sorted(names - {self._myself})

    def listed(self) -> list[Listed]:
        """The agents that run, and those that a message starts; each name once, as `find` resolves it."""
        found: list[Listed] = []
        for source in self._sources.values():
            try:
                found += source.listed()
                if source.everybody(here=False):
                    found += _BROADCASTS
            except (SynapseError, OSError):
                pass  # sending a message reports what is wrong with a registry
        found += [Listed(name, "not running") for name in self._startable]
        named: dict[str, Listed] = {}
        for one in found:
            named.setdefault(one.name.casefold(), one)
        return list(named.values())

    def changed(self) -> bool:
        """Whether an agent may have started or ended since the last call; cheap."""
        seen = [_changed_at(source.folder) for source in self._sources.values()]
        changed, self._seen = seen != self._seen, seen
        return changed


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
