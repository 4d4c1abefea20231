"""The relay's event loop: one selector and timers."""

from __future__ import annotations

import heapq
import selectors
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    OnReady = Callable[[int], None]

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Reactor:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, int] = {}  # the events of each descriptor, checked on every keystroke
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0  # timers of the same time run in the order they were set

    def watch(self, fd: int, events: int, call: OnReady) -> None:
        """Call `call` on `events` of `fd`; with no events, stop watching it."""
        known = self._watched.get(fd, 0)
        if known == events:
            return
        if not known:
            self._selector.register(fd, events, call)
        elif not events:
            self._selector.unregister(fd)
        else:
            self._selector.modify(fd, events, call)
        self._watched[fd] = events

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._count, call))

    def turn(self) -> None:
        timeout = max(self._timers[0][0] - time.monotonic(), 0.0) if self._timers else None
        for key, events in self._selector.select(timeout):
            if self._watched.get(key.fd):  # not removed by a call before it
                key.data(events)
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
