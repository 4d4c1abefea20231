"""When an agent's status is looked at, and where it is published."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from synapse.registry import AgentRegistry

logger = logging.getLogger(__name__)

LOOK_SOON = 0.02  # seconds after output, a key or an event


class StatusWatch:
    """`check` looks at the status and returns in how many seconds it is worth looking again, if ever."""

    def __init__(self, check: Callable[[], float | None]) -> None:
        self._check = check
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None  # of the next look

    def soon(self) -> None:
        """One look serves any number of causes."""
        soon = self._loop.time() + LOOK_SOON
        if self._timer is not None:
            if self._timer.when() <= soon:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(soon, self._look)

    def _look(self) -> None:
        wait = self._check()
        self._timer = None if wait is None else self._loop.call_later(wait, self._look)


class StatusPublisher:
    """The host feature that writes the status into the agent's registry entry."""

    def __init__(self, registry: AgentRegistry, agent_id: str) -> None:
        self._registry = registry
        self._agent_id = agent_id

    def status_changed(self, status: str) -> None:
        try:
            self._registry.update_status(self._agent_id, status)
        except OSError as error:
            logger.warning("cannot publish the status: %s", error)
