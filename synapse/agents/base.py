"""What is special about one CLI and cannot be said in YAML, as the host sees it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synapse.agents.errors import ReportedError
from synapse.agents.facts import Fact
from synapse.base import processes

# Where evidence comes from; `watch/status.py` says how much each source is trusted.
PROCESS, HOOK, TRANSCRIPT = "process", "hook", "transcript"
OSC, TITLE, SCREEN, SILENCE = "osc", "title", "screen", "silence"


@dataclass(frozen=True)
class Surroundings:
    """Where the agent runs: what leads to its files."""

    working_dir: str
    env: Mapping[str, str]
    started_at: float  # wall clock, seconds
    child: int = 0

    @property
    def home(self) -> str:
        return self.env.get("HOME") or os.path.expanduser("~")

    def argument(self, flag: str) -> str:
        """What an option on the agent's command line was given; empty where that cannot be told."""
        for pid in processes.session_members(self.child) if self.child else []:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            for word, after in zip(words, [*words[1:], ""], strict=True):
                if word == flag or word.startswith(f"{flag}="):
                    return after if word == flag else word[len(flag) + 1 :]
        return ""

    def open_files(self, suffix: str) -> list[str]:
        """Files that the agent's session holds open, by the end of their name."""
        found = []
        for pid in processes.session_members(self.child) if self.child else []:
            folder = f"/proc/{pid}/fd"
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            for name in names:
                try:
                    target = os.readlink(f"{folder}/{name}")
                except OSError:
                    continue
                if target.endswith(suffix) and target not in found:
                    found.append(target)
        return found


def text_of(value: object) -> str:
    """A field of somebody else's JSON that should be text."""
    return value if isinstance(value, str) else ""


def changed_at(path: str) -> float:
    """When a file or folder last changed; 0 where there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


class Channel:
    """A CLI without one: nothing but its screen."""

    name = "none"
    tells = False  # whether it tells of turns; else there is the screen
    tells_all = False  # whether it tells of every turn, so that one it does not tell of was none

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        """What a hook or notification tells."""
        return []

    def submitted(self) -> None:
        """Enter was pressed just now."""

    def poll(self) -> list[Fact]:
        """What the transcript tells since the last look."""
        return []

    def unfinished(self) -> bool:
        """Whether the agent has said that it will go on: a tool's result is due."""
        return False

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        """What the error in a fact of this channel is; None: as `reported_error` reads it, if it is one."""
        return None

    def missing(self) -> list[str]:
        """What this channel should have and does not: for `synapse why`."""
        return []
