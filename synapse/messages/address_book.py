"""Whom one agent's human can write to: agents that run here, agents elsewhere, those that can be started."""

from __future__ import annotations

import os
from collections.abc import Iterable

from synapse.errors import NoSuchAgent, TargetError
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.registry import ALL, ALL_HERE, AgentRegistry, Entry


class AddressBook:
    """`me` is the registry entry of the agent whose book it is; `startable` are names from the settings."""

    def __init__(
        self,
        me: Entry,
        local: AgentRegistry,
        external: ExternalAgentRegistry,
        startable: Iterable[str] = (),
    ) -> None:
        self._me = me
        self._local = local
        self._external = external
        self._startable = frozenset(startable)
        self._seen: tuple[object, ...] = ()

    def changed(self) -> bool:
        """Whether anybody may have come or gone since the last time; cheap."""
        seen = tuple(_stamp(folder) for folder in (self._local.registry_dir, self._external.registry_dir))
        changed, self._seen = seen != self._seen, seen
        return changed

    def others(self) -> list[Entry]:
        """The agents that run on this machine, without this one."""
        return [e for e in self._local.list_agents().values() if e["agent_id"] != self._me["agent_id"]]

    def names(self) -> list[str]:
        """Every name that means somebody. Its own name means nobody: that is just text."""
        names, others = set(self._startable), self.others()
        if others:
            names |= {ALL, ALL_HERE}
        for entry in others:
            kind = str(entry["agent_type"])
            names |= {str(entry["name"]), kind, f"{kind}-{entry['port']}"}
        names |= {agent.alias for agent in self._external.list_agents()}
        return sorted(names - {str(self._me["name"])})

    def find(self, target: str) -> Entry | str:
        """The entry of an agent here, or the alias of one elsewhere. TargetError says why it is neither."""
        try:
            return self._local.resolve(target, str(self._me["working_dir"]), but=str(self._me["agent_id"]))
        except NoSuchAgent:
            elsewhere = self._external.get(target)
            if elsewhere is None:
                raise
            return elsewhere.alias

    def everybody(self, target: str = ALL) -> list[Entry]:
        """Those whom `all` or `all-here` means."""
        here = target.casefold() == ALL_HERE
        others = [e for e in self.others() if not here or e["working_dir"] == self._me["working_dir"]]
        if here and not others:
            raise TargetError("no other agent runs in this directory: `@all` reaches those elsewhere.")
        if not others:
            raise TargetError("no other agent is running: `synapse start <profile>` starts one.")
        return others


def _stamp(folder: str | os.PathLike[str]) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
