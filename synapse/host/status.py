"""When an agent's status is checked, and where it is published."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from synapse.registry import AgentRegistry

logger = logging.getLogger(__name__)

LOOK_SOON = 0.02  # seconds after output, a key or an event


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
    """The host feature that writes the status into the agent's registry entry."""

    registry: AgentRegistry
    agent_id: str

    def status_changed(self, status: str) -> None:
        try:
            self.registry.update_status(self.agent_id, status)
        except OSError as error:
            logger.warning("cannot publish the status: %s", error)
