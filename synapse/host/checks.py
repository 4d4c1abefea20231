"""Tells the human once that the CLI is not the program that `synapse doctor --drive` checked last, or that it
has not got the tools that its profile gives it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from synapse.launch import checked
from synapse.launch.extras import INSTALL_MCP
from synapse.messages.inbox import Inbox
from synapse.profiles.loader import Profile

LOOK_AFTER = 3.0  # seconds: not while the CLI starts


@dataclass(eq=False, repr=False)
class Checks:
    """`changed` is called when the inbox has changed. `no_tools`: those of `synapse mcp` are missing."""

    profile: Profile
    inbox: Inbox
    changed: Callable[[], None]
    later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]
    no_tools: bool = False
    _timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        self._timer = self.later(LOOK_AFTER, self._look)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        name = self.profile.name
        if self.no_tools:
            self.inbox.notice(
                "tools", name, "has no tools of `synapse mcp`", f"`{INSTALL_MCP}` installs them."
            )
            self.changed()
        if checked.claim_note(self.profile):
            how = f"`synapse doctor {name} --drive` checks whether Synapse still works with it."
            self.inbox.notice("checks", name, "has changed since its last check", how)
            self.changed()
