"""Ends a host that is stuck, even if its relay is gone.

The loop sets the process's alarm again and again. If it is stuck, whatever holds the interpreter, the kernel
ends the process. A stopped process gets no alarm: the kernel lets it continue when its relay dies.
"""

import asyncio
import signal

from synapse.base.processes import signal_at_parents_death

STUCK = 30  # seconds; a relay that lives replaces its host after 20
EVERY = 10.0  # seconds


class Watchdog:
    def __init__(self, loop: asyncio.AbstractEventLoop, stuck: int = STUCK, every: float = EVERY) -> None:
        self._loop = loop
        self._stuck = stuck
        self._every = every
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal_at_parents_death(signal.SIGCONT)
        self._look()

    def _look(self) -> None:
        signal.alarm(self._stuck)
        self._timer = self._loop.call_later(self._every, self._look)

    def end_within(self, seconds: int) -> None:
        """The process has so long, even if a lock is never released."""
        self._timer.cancel()
        signal.alarm(seconds)
