"""When an agent's status is checked, and where it is published."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.base import checkpoints
from synapse.errors import SynapseError
from synapse.registry import PROCESSING, AgentRegistry, Entry
from synapse.watch.limits import limited_until
from synapse.watch.turns import Turn

logger = logging.getLogger(__name__)

LOOK_SOON = 0.02  # seconds after output, a key or an event
LOOK_AT_ENTRY = 2.0  # seconds between two looks at the registry entry


class StatusWatch:
    """`check` checks the status and returns the seconds until the next check, if one is due."""

    def __init__(self, check: Callable[[], float | None]) -> None:
        self._check = check
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None  # of the next check

    def soon(self) -> None:
        soon = self._loop.time() + LOOK_SOON
        if self._timer is not None:
            if self._timer.when() <= soon:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(soon, self._look)

    def _look(self) -> None:
        self._timer = None  # first: the check may call `soon`, or fail
        wait = self._check()
        if wait is not None and self._timer is None:
            self._timer = self._loop.call_later(wait, self._look)


@dataclass(eq=False, repr=False)
class StatusPublisher:
    """The host feature that keeps the agent's registry entry: with its status, and there. Without the entry
    nobody finds the agent. `later` is the loop's call_later."""

    registry: AgentRegistry
    entry: Entry
    later: Callable[[float, Callable[[], None]], object]
    _status: str = PROCESSING
    _ended: bool = False

    def __post_init__(self) -> None:
        self.later(LOOK_AT_ENTRY, self._look)

    def status_changed(self, status: str) -> None:
        self._status = status
        self._publish()

    async def drain(self) -> None:
        self._ended = True  # the relay has removed the entry

    def _look(self) -> None:
        if not self._ended:
            self.later(LOOK_AT_ENTRY, self._look)
            self._publish()

    def _publish(self) -> None:
        if self._ended:
            return
        try:
            self.registry.publish(self.entry, status=self._status)
            checkpoints.reached("status published", status=self._status)
        except (OSError, SynapseError) as error:
            logger.warning("cannot publish the status: %s", error)


@dataclass(eq=False, repr=False)
class LimitPublisher:
    """The host feature that tells until when the agent's CLI is at its usage or rate limit."""

    registry: AgentRegistry
    agent_id: str
    controller: AgentTerminal
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        """An earlier host has written it into the registry."""
        known = self.registry.list_agents().get(self.agent_id, {}).get("limited_until")
        if isinstance(known, float) and known > self.clock():
            self.controller.limited_until = known

    def turn_ended(self, turn: Turn) -> None:
        if turn.outcome == "failed":
            until = limited_until(turn.error, self.clock())
        elif turn.outcome == "completed":
            until = None
        else:
            return  # an interrupted turn says nothing about it
        if until == self.controller.limited_until:
            return
        self.controller.limited_until = until
        try:
            self.registry.update(self.agent_id, limited_until=until)
        except OSError as error:
            logger.warning("cannot publish the limit: %s", error)
