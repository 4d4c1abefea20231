"""When the inbox is drawn: after a pause in the agent's output, at most 20 times a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from synapse.messages.placement import NEVER

DRAW_INTERVAL = 0.05  # seconds between two drawings
LONGEST_WAIT = 0.25  # seconds that steady output keeps a drawing waiting


class Timer(Protocol):
    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], Timer]


class DrawTimer:
    """`later` is the loop's call_later."""

    def __init__(self, draw: Callable[[], None], later: Later, clock: Callable[[], float]) -> None:
        self._draw = draw
        self._later = later
        self._clock = clock
        self._timer: Timer | None = None
        self._due = 0.0
        self._waiting_since: float | None = None
        self.last = NEVER  # when something was drawn

    def after(self, seconds: float) -> None:
        """Draw once for any number of calls; steady output delays it by LONGEST_WAIT at most."""
        now = self._clock()
        if self._waiting_since is None:
            self._waiting_since = now
        latest = max(self._waiting_since + LONGEST_WAIT, now)
        due = min(max(now + seconds, self.last + DRAW_INTERVAL), latest)
        if self._timer is None or self._due > due or seconds:
            self.at(due)

    def at(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._later(max(due - self._clock(), 0.0), self._fire)

    def _fire(self) -> None:
        self._timer = self._waiting_since = None
        self._draw()
