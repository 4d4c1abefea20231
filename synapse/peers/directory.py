"""Every agent that a message can be sent to: local, on another machine, or external."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from synapse.errors import NoSuchAgent, SynapseError, TargetError
from synapse.peers.base import Listed, Peer, RemoteSource, Source
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.peer import ExternalSource
from synapse.peers.local import LocalSource
from synapse.peers.origin import Origin
from synapse.peers.remote import is_remote, remote_sources, source_of
from synapse.peers.task import Json
from synapse.registry import ALL, ALL_HERE, AgentRegistry, Entry

Listing = frozenset[tuple[str, int]]  # of a folder: names and what identifies each file

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
    found = Directory(sources, startable, str(me["name"]) if me else "")
    found.add_remote(lambda: remote_sources(registry, origin))
    return found


class Directory:
    """The first source that knows a name has it. `myself` is the name of the agent that asks."""

    def __init__(self, sources: Sequence[Source], startable: Iterable[str] = (), myself: str = "") -> None:
        self._sources = {source.kind: source for source in sources}
        self._startable = tuple(startable)
        self._myself = myself
        self._seen: dict[str, tuple[int, Listing]] = {}  # by folder: when it changed, and what is in it
        self._remote: Callable[[], list[RemoteSource]] = list

    def add_remote(self, remote: Callable[[], list[RemoteSource]]) -> None:
        """`remote` returns the sources of agents on other machines, of which one may be added at any time."""
        self._remote = remote

    @property
    def _all(self) -> list[Source]:
        return [*self._sources.values(), *self._remote()]

    def find(self, name: str) -> Peer:
        """Raises NoSuchAgent, or TargetError if the name could mean several."""
        if is_remote(name):
            return source_of(name.partition("@")[2], self._remote()).find(name)
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
        source = next((source for source in self._all if source.kind == kind), None)
        if source is None:
            raise NoSuchAgent(f"{name} cannot be reached: nothing here knows the address {address!r}.")
        return source.at(place, name)

    def author(self, sender: Json) -> Peer | None:
        found = (source.author(sender) for source in self._all)
        return next(filter(None, found), None)

    def everybody(self, name: str = ALL) -> list[Peer]:
        """Those that a group means. On other machines they are the agents that `listed` has."""
        group, at, machine = name.casefold().partition("@")
        if at:
            return self._everybody_there(machine)
        here = group == ALL_HERE
        found = [peer for source in self._sources.values() for peer in source.everybody(here)]
        if here and not found:
            raise TargetError("no other agent runs in this directory: `all` reaches those in other ones.")
        if not found:
            raise TargetError("no other agent is running: `synapse start <profile>` starts one.")
        return found

    def _everybody_there(self, machine: str) -> list[Peer]:
        """On one machine, or on every one, this one included."""
        remote, found = self._remote(), []
        if machine == ALL:
            found = [peer for source in self._sources.values() for peer in source.everybody(False)]
        else:
            source_of(machine, remote)  # raises if nobody knows it
        for where, source in _first_sources(remote).items():
            if machine in (ALL, where):
                names = [one.name for one in source.listed()]
                found += [source.find(name) for name in names if _machine_of(name) == where]
        if not found:
            where = "any machine" if machine == ALL else machine
            raise TargetError(f"no agent runs on {where}, as far as is known: see `synapse list`.")
        return found

    def names(self) -> list[str]:
        names = set(self._startable).union(*(source.names() for source in self._all))
        if any(name.startswith("@") for name in names):
            names.add(f"@{ALL}")
        if any(source.everybody(here=False) for source in self._sources.values()):
            names |= {ALL, ALL_HERE}
        return sorted(names - {self._myself})

    def listed(self) -> list[Listed]:
        """The agents that run, and those that a message starts; each name once, as `find` resolves it."""
        found: list[Listed] = []
        for source in self._all:
            try:
                found += source.listed()
                if source.everybody(here=False):
                    found += _BROADCASTS
            except (SynapseError, OSError):
                pass  # sending a message reports what is wrong with a registry
        machines = sorted({where for one in found if (where := _machine_of(one.name))})
        found += [Listed(f"{ALL}@{where}", f"every agent of {where}") for where in machines]
        if machines:
            found.append(Listed(f"{ALL}@{ALL}", "every agent of every machine"))
        found += [Listed(name, "not running") for name in self._startable]
        named: dict[str, Listed] = {}
        for one in found:
            named.setdefault(one.name.casefold(), one)
        return list(named.values())

    def changed(self) -> bool:
        """Whether an agent may have started or ended since the last call; cheap."""
        changed = [self._has_changed(source.folder) for source in self._all]
        return any(changed)

    def _has_changed(self, folder: str) -> bool:
        changed_at, known = _changed_at(folder), self._seen.get(folder)
        if known is not None and known[0] == changed_at:
            return False
        listing = _listing(folder)
        self._seen[folder] = (changed_at, listing)
        return known is None or known[1] != listing


def _machine_of(name: str) -> str:
    return name.casefold().partition("@")[2]


def _first_sources(sources: Iterable[RemoteSource]) -> dict[str, RemoteSource]:
    """By machine: one that two of them know is that of the first."""
    found: dict[str, RemoteSource] = {}
    for source in sources:
        for machine in source.machines():
            found.setdefault(machine.name.casefold(), source)
    return found


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _listing(folder: str) -> Listing:
    """The files of a folder. One that is replaced is another file, except the entry of a running agent: it is
    replaced whenever the status changes."""
    try:
        with os.scandir(folder) as entries:
            found = {entry.name: entry.inode() for entry in entries if not entry.name.startswith(".")}
    except OSError:
        return frozenset()
    running = {name[:-5] + ".json" for name in found if name.endswith(".lock")}
    return frozenset((name, 0 if name in running else inode) for name, inode in found.items())
