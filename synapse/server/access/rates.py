"""How often somebody may ask."""

import time
from collections.abc import Callable

MANY = 4096  # keys; who has not asked for the longest time is forgotten first


class Rates:
    """A token bucket a key: `rate` a second, `burst` at once. A bucket is the time when it is full again."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._cost = 1 / rate if rate else 0.0
        self._span = self._cost * burst
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def wait(self, key: str) -> float:
        """Take one: 0, or the seconds until there is one."""
        now = self._clock()
        full_at = max(self._full_at.pop(key, now), now) + self._cost
        over = full_at - now - self._span
        if over > 1e-9:
            full_at -= self._cost
        self._full_at[key] = full_at  # the last in the dictionary is the latest to ask
        if len(self._full_at) > MANY:
            del self._full_at[next(iter(self._full_at))]
        return over if over > 1e-9 else 0.0
