"""Every agent that a message can be sent to, however it is reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from synapse.errors import NoSuchAgent, SynapseError, TargetError
from synapse.peers.base import Listed, Peer, Source
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.peer import ExternalSource
from synapse.peers.local import LocalAgents
from synapse.peers.local_peer import LocalSource
from synapse.peers.origin import Origin
from synapse.peers.task import Json
from synapse.registry import ALL, ALL_HERE, AgentRegistry, Entry


def open_directory(
    origin: Origin | None = None,
    *,
    me: Entry | None = None,
    startable: Iterable[str] = (),
    local: AgentRegistry | None = None,
    external: ExternalAgentRegistry | None = None,
) -> Directory:
    """`me` is the registry entry of the agent that asks; `startable` are names from the settings."""
    agents = LocalAgents(local)
    sources: list[Source] = [
        LocalSource(agents, origin, me),
        ExternalSource(ExternalClient(external), agents, origin),
    ]
    return Directory(sources, startable, str(me["name"]) if me else "")


class Directory:
    """The first source that knows a name has it. `myself` is a name that means nobody."""

    def __init__(self, sources: Sequence[Source], startable: Iterable[str] = (), myself: str = "") -> None:
        self._sources = {source.kind: source for source in sources}
        self._startable = tuple(startable)
        self._myself = myself
        self._seen: list[object] = []

    def find(self, name: str) -> Peer:
        """Raises NoSuchAgent, or TargetError if the name could mean several."""
        first: TargetError | None = None
        for source in self._sources.values():
            try:
                return source.find(name)
            except TargetError as error:
                first = first or error
        assert first is not None
        raise first

    def at(self, address: str, name: str) -> Peer:
        """The peer of an address that was stored; `name` is what it was called."""
        kind, _, place = address.partition(":")
        if kind not in self._sources:
            raise NoSuchAgent(f"{name} cannot be reached: nothing here knows the address {address!r}.")
        return self._sources[kind].at(place, name)

    def author(self, sender: Json) -> Peer | None:
        """Who has sent a task, if it can be reached."""
        found = (source.author(sender) for source in self._sources.values())
        return next(filter(None, found), None)

    def everybody(self, name: str = ALL) -> list[Peer]:
        """Those whom `all` or `all-here` means."""
        here = name.casefold() == ALL_HERE
        found = [peer for source in self._sources.values() for peer in source.everybody(here)]
        if here and not found:
            raise TargetError("no other agent runs in this directory: `all` reaches those in other ones.")
        if not found:
            raise TargetError("no other agent is running: `synapse start <profile>` starts one.")
        return found

    def names(self) -> list[str]:
        """Every name that means somebody."""
        names = set(self._startable).union(*(source.names() for source in self._sources.values()))
        if any(source.everybody(here=False) for source in self._sources.values()):
            names |= {ALL, ALL_HERE}
        return sorted(names - {self._myself})

    def listed(self) -> list[Listed]:
        """Everybody there is at this moment, and who is started when something is sent to it; each name
        once, for the agent that `find` gives for it."""
        found: list[Listed] = []
        for source in self._sources.values():
            try:
                found += source.listed()
                if source.everybody(here=False):
                    found.append(Listed(ALL, "every running agent"))
                    found.append(Listed(ALL_HERE, "every agent that runs in this directory"))
            except (SynapseError, OSError):
                pass  # what is wrong with a registry is said when something is sent
        found += [Listed(name, "not running") for name in self._startable]
        named: dict[str, Listed] = {}
        for one in found:
            named.setdefault(one.name.casefold(), one)
        return list(named.values())

    def changed(self) -> bool:
        """Whether anybody may have come or gone since the last time; cheap."""
        seen = [source.stamp() for source in self._sources.values()]
        changed, self._seen = seen != self._seen, seen
        return changed
