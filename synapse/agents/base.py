"""Channels: how a CLI reports what it does, beyond its screen."""

import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synapse.agents import folders
from synapse.agents.errors import ReportedError
from synapse.agents.facts import Fact
from synapse.agents.requests import ToolRequest
from synapse.base import files, processes

logger = logging.getLogger(__name__)

_MARK = re.compile(r"\s*(\[A2A:[^\]\s]+\])")

# Where evidence comes from; `watch/status.py` says how much each source is trusted.
PROCESS, HOOK, TRANSCRIPT = "process", "hook", "transcript"
OSC, TITLE, SCREEN, SILENCE = "osc", "title", "screen", "silence"


@dataclass(frozen=True)
class Surroundings:
    """Where the agent runs, to find its files."""

    working_dir: str
    env: Mapping[str, str]
    started_at: float  # wall clock, seconds
    child: int = 0
    session_file: str = ""  # says which conversation of the CLI this agent shows

    @property
    def home(self) -> str:
        return self.env.get("HOME") or os.path.expanduser("~")

    def argument(self, flag: str) -> str:
        """The value of an option on the agent's command line; empty if it is not known."""
        for pid in self.pids():
            words = _command_line(pid)
            for word, after in zip(words, [*words[1:], ""], strict=True):
                if word == flag or word.startswith(f"{flag}="):
                    return after if word == flag else word[len(flag) + 1 :]
        return ""

    def operands(self) -> list[str]:
        """The words of the agent's command line that are no options: one may be its first prompt."""
        return [word for word in _command_line(self.child)[1:] if word.strip() and not word.startswith("-")]

    def open_files(self, suffix: str) -> list[str]:
        found: dict[str, None] = {}
        for pid in self.pids():
            folder = f"/proc/{pid}/fd"
            for name in names_in(folder):
                try:
                    target = os.readlink(f"{folder}/{name}")
                except OSError:
                    continue
                if target.endswith(suffix):
                    found[target] = None
        return list(found)

    def reads_terminal(self) -> bool:
        """Whether a process of the agent waits for a line from its terminal, as far as the system tells."""
        return any(map(processes.reads_terminal, self.pids()))

    def has_neighbour(self, name: str) -> bool:
        """Whether a program of this name, as the system knows it, runs elsewhere in the same directory."""
        ours, place = set(self.pids()), os.path.realpath(self.working_dir)
        others = [int(pid) for pid in names_in("/proc") if pid.isdecimal() and int(pid) not in ours]
        return any(processes.command_of(pid) == name and _directory(pid) == place for pid in others)

    def pids(self) -> list[int]:
        """The processes in the agent's terminal."""
        return processes.session_members(self.child) if self.child else []


def _command_line(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def _directory(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def mark_in(text: str | None) -> str:
    """The mark at the beginning of a message that Synapse has typed; empty if there is none."""
    found = _MARK.match(text or "")
    return found[1] if found else ""


def text_of(value: object) -> str:
    """A field of JSON from another program that should be text."""
    return value if isinstance(value, str) else ""


def changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


class Channel:
    """The channel of a CLI that has none: only its screen is read."""

    name = "none"
    tells = False  # whether it reports turns
    tells_all = False  # whether it reports every turn
    # Seconds of READY before a turn ends of which it expects more: the human may have refused a tool.
    patience = 2.0
    session_variable = ""  # in which the CLI gives its tools the id of the conversation

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.session = ""  # the CLI's own id of the conversation, if its tools get it
        self.shown: Callable[[], str] = str  # the text of its terminal, with what has scrolled away

    def keep_session(self, session: str, **more: object) -> None:
        """Write it down for the agent's own commands (`peers/origin.py`) and for the next host."""
        self.session = session
        if self.surroundings.session_file:
            told = {"variable": self.session_variable, "session": session}
            kept = {"started_at": self.surroundings.started_at, **told, **more}
            try:
                files.replace(self.surroundings.session_file, json.dumps(kept).encode())
            except OSError as error:
                logger.warning("the session %s cannot be written down: %s", session, error)

    def read_session(self) -> dict[str, Any]:
        """What an earlier host of this run has written; what an earlier run has written no longer counts."""
        kept = files.read_object(self.surroundings.session_file)
        if kept.get("started_at") != self.surroundings.started_at:
            self.keep_session("")
            return {}
        self.session = text_of(kept.get("session"))
        return kept

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        return []

    def knows(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is about the agent's conversation for certain, whichever process has sent it."""
        return False

    def submitted(self, text: str | None = None) -> None:
        """Enter was pressed now; `text` is what was submitted, if that is known."""

    def poll(self) -> list[Fact]:
        return []

    def requests(self) -> Sequence[ToolRequest]:
        """The tools that the agent has called and whose results are due, the oldest first: a permission
        prompt on the screen is about one of them."""
        return ()

    def leave(self) -> list[Fact]:
        """The running turn is not wanted any more. What ends it, if no key of the CLI does."""
        return []

    def unfinished(self) -> bool:
        """Whether the agent will continue, because the result of a tool is due."""
        return False

    def is_behind(self, reply: str) -> bool:
        """Whether the end of a turn with this reply is not in the transcript yet, and so its last tokens."""
        return False

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        """The error in an event of this CLI; None: `reported_error` reads it."""
        return None

    def missing(self) -> list[str]:
        """What this channel needs and does not have, for `synapse why`."""
        return []

    def reports(self) -> bool:
        """Whether it reports turns now; if not, the screen is read."""
        return self.tells and not self.missing()


def open_channel(name: str, surroundings: Surroundings) -> Channel:
    """If the channel of another package cannot be loaded, the agent runs without it."""
    try:
        module = folders.load(name, "channel")
        channel: Channel = (module.CHANNEL if module is not None else Channel)(surroundings)
    except Exception as error:
        logger.exception("the channel %s cannot be loaded", name)
        return BrokenChannel(surroundings, name, error)
    return channel


class BrokenChannel(Channel):
    """Only the screen is read; `missing` has the reason."""

    def __init__(self, surroundings: Surroundings, name: str, error: Exception) -> None:
        super().__init__(surroundings)
        self._problem = f"the channel {name} cannot be loaded: {error}"

    def missing(self) -> list[str]:
        return [self._problem]
