"""When to draw: after a pause in the agent's output, and not too often."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from synapse.messages.placement import NEVER

DRAW_INTERVAL = 0.05  # seconds between two drawings
LONGEST_WAIT = 0.25  # seconds that steady output keeps a drawing waiting


class Timer(Protocol):
    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], Timer]


@dataclass(eq=False, repr=False)
class DrawTimer:
    """Draws after a pause in the output, at most 20 times a second. `later` is the loop's call_later."""

    draw: Callable[[], None]
    later: Later
    clock: Callable[[], float]
    last: float = NEVER  # when something was drawn
    _timer: Timer | None = None
    _due: float = 0.0
    _waiting_since: float | None = None

    def after(self, seconds: float) -> None:
        """Draw once for any number of calls; steady output delays it by LONGEST_WAIT at most."""
        now = self.clock()
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
        self._timer = self.later(max(due - self.clock(), 0.0), self._fire)

    def _fire(self) -> None:
        self._timer = self._waiting_since = None
        self.draw()
