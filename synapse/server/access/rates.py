"""How many requests a client may send."""

import time
from collections.abc import Callable

MANY = 4096  # clients; the one whose last request is the oldest is forgotten first


class Rates:
    """One token bucket for each key: `rate` requests a second, `burst` at once; rate 0 is no limit.

    A bucket is stored as the time at which it will be full again.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._cost = 1 / rate if rate else 0.0
        self._span = self._cost * burst
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def wait(self, key: str) -> float:
        """Take one token: 0, or the seconds until there is one."""
        now = self._clock()
        full_at = max(self._full_at.pop(key, now), now)
        over = full_at + self._cost - now - self._span
        allowed = over <= 1e-9
        # The key moves to the end of the dictionary.
        self._full_at[key] = full_at + self._cost if allowed else full_at
        if len(self._full_at) > MANY:
            del self._full_at[next(iter(self._full_at))]
        return 0.0 if allowed else over
