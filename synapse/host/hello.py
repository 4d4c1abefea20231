"""The relay's first frame: which agent this is, and its state so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synapse.base import paths, processes
from synapse.config import Settings, unpack_settings
from synapse.profiles.loader import Profile, instruction_method, unpack_profile
from synapse.registry import Entry


@dataclass(frozen=True, eq=False, repr=False)
class Hello:
    entry: Entry
    agent_id: str
    name: str
    working_dir: str
    folder: str  # for this agent's files
    run: str  # names this run of the agent; all of its hosts have the same
    profile: Profile  # as it was when the agent started
    settings: Settings
    token: str | None  # clients on the TCP port need it
    generation: int  # the first host of this agent is 1
    child: int  # the agent's process
    child_start: str  # when it began: a later process may get the same number
    started_at: float
    size: tuple[int, int]
    console: dict[str, object] | None  # the human's terminal
    keys: int  # how often a human has typed
    written: int  # bytes that the agent has written and this host does not get
    before: bytes  # sets the title and the terminal modes, which those bytes may have set
    draft: tuple[bool, str | None]  # whether the composer is empty, and what it holds
    is_whole: bool  # the host gets all output from the start
    is_placed: bool  # the agent's first row is the terminal's first row
    resumes: int  # how often the shell had the terminal in between
    injected: frozenset[str]  # names of the injections that the relay has done

    @property
    def instruction_method(self) -> str:
        return instruction_method(self.profile, self.settings.initial_instructions)

    @classmethod
    def of(cls, told: dict[str, Any]) -> Hello:
        entry = told["entry"]
        from_entry = ("agent_id", "name", "working_dir")
        same = ("token", "generation", "child", "started_at", "console", "keys", "written")
        empty, draft = told.get("draft", (True, ""))
        return cls(
            entry=entry,
            **{name: entry[name] for name in from_entry},
            folder=paths.private_dir(paths.agent_dir(entry["agent_id"])),
            run=f"{told['child']}-{told['started_at']}",
            **{name: told[name] for name in same},
            profile=unpack_profile(told["profile"]),
            settings=unpack_settings(told["settings"]),
            child_start=processes.start_time(told["child"]),
            size=(told["cols"], told["rows"]),
            draft=(empty, draft),
            before=told.get("before", "").encode("latin-1"),
            is_whole=told["whole"],
            is_placed=told.get("placed", True),
            resumes=told.get("resumes", 0),
            injected=frozenset(told["injected"]),
        )
