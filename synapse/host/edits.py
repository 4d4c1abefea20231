"""Tells the humans of two agents that both have changed the same file within a minute.

Each agent keeps a file with what it has changed lately. For a minute after each change it looks at the
files of the others. No message is sent: a model spends no turn on it.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from synapse.base import files, paths
from synapse.messages.inbox import Inbox
from synapse.registry import AgentRegistry

WITHIN = 60.0  # seconds between the two changes
LOOK_EVERY = 2.0  # seconds between two looks at what the others have changed
MOST = 200  # files of one agent
FILE = "edits.json"


@dataclass(eq=False, repr=False)
class Edits:
    """`changed` is called when the inbox has changed."""

    agent_id: str
    working_dir: str
    registry: AgentRegistry
    inbox: Inbox
    changed: Callable[[], None]
    later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]
    clock: Callable[[], float] = time.time
    _mine: dict[str, float] = field(default_factory=dict)  # when each file was changed last
    _told: dict[tuple[str, str], float] = field(default_factory=dict)  # by agent and file
    _timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Take up what an earlier host of this agent has noted."""
        known = files.read_object(_path_of(self.agent_id))
        self._mine = {path: at for path, at in known.items() if isinstance(at, float)}
        self._look()

    def file_changed(self, path: str, at: float) -> None:
        """`at` is wall clock; 0 means now. A host that reads a transcript again gets old changes too."""
        now = self.clock()
        at = at or now
        if now - at > WITHIN:
            return
        path = os.path.realpath(os.path.join(self.working_dir, path))
        self._mine.pop(path, None)
        self._mine[path] = at
        while len(self._mine) > MOST:
            del self._mine[next(iter(self._mine))]
        self._write()
        self._look()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._mine.clear()
        self._write()

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self.clock()
        recent = {path: at for path, at in self._mine.items() if now - at <= WITHIN}
        if len(recent) < len(self._mine):
            self._mine = recent
            self._write()
        self._told = {pair: at for pair, at in self._told.items() if now - at <= WITHIN}
        if not recent:
            return
        for other, entry in self.registry.list_agents().items():
            if other != self.agent_id:
                self._compare(other, str(entry["name"]), now)
        self._timer = self.later(LOOK_EVERY, self._look)

    def _compare(self, other: str, name: str, now: float) -> None:
        theirs = files.read_object(_path_of(other))
        for path, mine in self._mine.items():
            at = theirs.get(path)
            if not isinstance(at, float) or abs(at - mine) > WITHIN or now - at > WITHIN:
                continue
            if (other, path) not in self._told:
                shown = os.path.relpath(path, self.working_dir)
                if shown.startswith(os.pardir + os.sep):
                    shown = paths.shortened(path)
                why = f"{shown}: both have changed it within a minute. One may undo the work of the other."
                self.inbox.notice(f"edit/{other}/{path}", name, "has changed the same file", why)
                self.changed()
            self._told[other, path] = now

    def _write(self) -> None:
        path = _path_of(self.agent_id)
        if self._mine:
            files.replace(path, json.dumps(self._mine).encode())
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _path_of(agent_id: str) -> str:
    return os.path.join(paths.agent_dir(agent_id), FILE)
