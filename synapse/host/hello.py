"""What the relay says first: which agent this is, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synapse.base import paths, processes
from synapse.config import Settings, unpack_settings
from synapse.profiles.loader import Profile, unpack_profile
from synapse.registry import Entry


@dataclass(frozen=True)
class Hello:
    entry: Entry
    profile: Profile  # as it was when the agent was started
    settings: Settings
    token: str | None  # that clients on the TCP port need
    generation: int  # the first host of this agent is 1
    child: int  # the agent's process
    child_start: str  # when that began, which tells it from a later process of the same number
    started_at: float
    size: tuple[int, int]
    console: dict[str, object] | None  # the human's terminal
    keys: int  # how often a human has typed
    written: int  # bytes that the agent has written
    draft: tuple[bool, str | None]  # whether the composer is empty, and what it holds
    is_whole: bool  # all output from the start follows
    is_placed: bool  # the agent's first row is the terminal's
    injected: frozenset[str]  # names of the injections that were carried out

    @classmethod
    def of(cls, told: dict[str, Any]) -> Hello:
        child = int(told["child"])
        empty, draft = told.get("draft", (True, ""))
        return cls(
            entry=told["entry"],
            profile=unpack_profile(told["profile"]),
            settings=unpack_settings(told["settings"]),
            token=told["token"],
            generation=int(told["generation"]),
            child=child,
            child_start=processes.start_time(child),
            started_at=float(told["started_at"]),
            size=(int(told["cols"]), int(told["rows"])),
            console=told["console"],
            keys=int(told["keys"]),
            written=int(told["written"]),
            draft=(empty, draft),
            is_whole=bool(told["whole"]),
            is_placed=bool(told.get("placed", True)),
            injected=frozenset(told["injected"]),
        )

    @property
    def agent_id(self) -> str:
        return str(self.entry["agent_id"])

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def working_dir(self) -> str:
        return str(self.entry["working_dir"])

    @property
    def run(self) -> str:
        """Names this run of the agent, which outlives a host."""
        return f"{self.child}-{self.started_at}"

    @property
    def folder(self) -> str:
        """Where this agent's files are."""
        return paths.private_dir(paths.agent_dir(self.agent_id))
