"""External agents by alias: `~/.a2a/external/<alias>.json`, and the secrets in `<alias>.token` and
`<alias>.secret`, which only their owner can read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import chain, count
from typing import Any

from synapse.base import files, paths
from synapse.errors import SynapseError, UsageError
from synapse.peers.external.credentials import Credentials
from synapse.registry import RESERVED_NAMES

ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class ExternalAgent:
    """`url` is where its card was found; `endpoint` is called with `protocol` and `binding`."""

    name: str
    url: str
    description: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict)
    skills: list[dict[str, Any]] = field(default_factory=list)
    alias: str = ""
    added_at: str = ""
    last_seen: str = ""
    version: str = ""
    endpoint: str = ""
    protocol: str = ""  # 1.0, 0.3, or old: the dialect with /tasks/send
    binding: str = ""  # JSONRPC or HTTP+JSON
    network: str = ""  # public, loopback or private, from when it was added
    card_read_at: str = ""
    note: str = ""  # for people: that its card has changed
    has_token: bool = False
    wants: dict[str, Any] = field(default_factory=dict)  # the credentials that its card asks for
    requires: list[str] = field(default_factory=list)  # the extensions that every request must name

    @property
    def streams(self) -> bool:
        return self.capabilities.get("streaming") is True and self.protocol != "old"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ExternalAgent:
        """Raises ValueError if the document is not that of an agent."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in document.items() if key in known}
        if not all(isinstance(values.get(key), str) for key in ("name", "url", "alias", "endpoint")):
            raise ValueError("no agent")
        return cls(**values)


class ExternalAgentRegistry:
    """Files that only their owner can read, each written atomically."""

    def __init__(self, registry_dir: str | os.PathLike[str] | None = None) -> None:
        self.registry_dir = os.fspath(registry_dir) if registry_dir is not None else paths.external_dir()

    def add(self, agent: ExternalAgent, token: str | None = None, given: Credentials | None = None) -> bool:
        """Register it, or replace the one with this alias; whether it is new. Without a token or other
        credentials, the old ones stay."""
        check_alias(agent.alias)
        new = self.get(agent.alias) is None
        if token is not None:
            self._forget(agent.alias, "secret")
            self._write(f"{agent.alias}.token", token)
        if given is not None:
            self._forget(agent.alias, "token")
            self.keep(agent.alias, given)
        self._save(replace(agent, has_token=bool(self.credentials(agent.alias).kind)))
        return new

    def keep(self, alias: str, credentials: Credentials) -> None:
        self._write(f"{alias}.secret", json.dumps(credentials.to_dict()) + "\n")

    def credentials(self, alias: str) -> Credentials:
        kept = files.read_object(self._path(f"{alias}.secret"))
        try:
            return Credentials.from_dict(kept) if kept else Credentials(token=self.token(alias) or "")
        except TypeError:
            return Credentials()

    def remove(self, alias: str) -> bool:
        known = self.get(alias)
        if known is None:
            return False
        self._forget(known.alias, "token", "secret", "json")
        return True

    def _forget(self, alias: str, *endings: str) -> None:
        for ending in endings:
            with suppress(FileNotFoundError):
                os.unlink(self._path(f"{alias}.{ending}"))

    def get(self, alias: str) -> ExternalAgent | None:
        if not ALIAS.fullmatch(alias):
            return None
        exact = self._read(f"{alias}.json")
        return exact or next((a for a in self.list_agents() if a.alias.casefold() == alias.casefold()), None)

    def list_agents(self) -> list[ExternalAgent]:
        """In the order of the aliases. A file that is not that of an agent is ignored."""
        try:
            names = sorted(os.listdir(self.registry_dir), key=str.casefold)
        except OSError:
            return []
        found = (self._read(name) for name in names if name.endswith(".json"))
        return [agent for agent in found if agent is not None]

    def update_last_seen(self, alias: str) -> None:
        self.update(alias, last_seen=now())

    def update(self, alias: str, /, **changes: object) -> ExternalAgent | None:
        """Change some fields; None if the agent has been removed meanwhile."""
        known = self.get(alias)
        if known is not None:
            known = ExternalAgent(**{**asdict(known), **changes})
            self._save(known)
        return known

    def token(self, alias: str) -> str | None:
        try:
            with open(self._path(f"{alias}.token"), encoding="ascii") as file:
                return file.read().strip() or None
        except (OSError, ValueError):
            return None

    def free_alias(self, wanted: str) -> str:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted.strip()).strip("-._").lower()[:56]
        base = base if base and base not in RESERVED_NAMES else "agent"
        aliases = chain([base], (f"{base}-{number}" for number in count(2)))
        return next(alias for alias in aliases if self.get(alias) is None)

    def _path(self, name: str) -> str:
        return os.path.join(self.registry_dir, name)

    def _read(self, name: str) -> ExternalAgent | None:
        try:
            with open(self._path(name), encoding="utf-8") as file:
                agent = ExternalAgent.from_dict(json.load(file))
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        return agent if f"{agent.alias}.json" == name else None

    def _save(self, agent: ExternalAgent) -> None:
        document = json.dumps(agent.to_dict(), ensure_ascii=False, indent=2)
        self._write(f"{agent.alias}.json", document + "\n")

    def _write(self, name: str, text: str) -> None:
        path = self._path(name)
        try:
            paths.private_dir(self.registry_dir)
            files.replace(path, text.encode("utf-8", "replace"))
        except OSError as error:
            raise SynapseError(
                f"cannot write {path} ({error.strerror}): make room or make it writable, or set A2A_HOME."
            ) from error


def check_alias(alias: str) -> None:
    if not ALIAS.fullmatch(alias) or alias.casefold() in RESERVED_NAMES:
        raise UsageError(
            f"{alias[:70]!r} cannot be an alias: use up to 64 letters, digits, - _ and ., "
            f"and not {' or '.join(sorted(RESERVED_NAMES))}."
        )


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
