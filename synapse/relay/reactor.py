"""The relay's event loop: descriptors and timers."""

from __future__ import annotations

import heapq
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    OnReady = Callable[[int], None]

    class Poller(Protocol):
        def watch(self, fd: int, known: int, events: int) -> None: ...

        def poll(self, timeout: float | None) -> list[tuple[int, int]]: ...


READ, WRITE = 1, 2
AT_ONCE = 16  # events of one turn; for more, Linux would be given a larger buffer each time


class Epoll:
    """Linux's own, without the layers of `selectors`: the relay waits here three times for each keystroke."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._events = (0, select.EPOLLIN, select.EPOLLOUT, select.EPOLLIN | select.EPOLLOUT)
        self._reads, self._writes = ~select.EPOLLOUT, ~select.EPOLLIN  # an error or a hangup is both

    def watch(self, fd: int, known: int, events: int) -> None:
        if not known:
            self._epoll.register(fd, self._events[events])
        elif events:
            self._epoll.modify(fd, self._events[events])
        else:
            try:
                self._epoll.unregister(fd)
            except OSError:
                pass  # it was closed before

    def poll(self, timeout: float | None) -> list[tuple[int, int]]:
        reads, writes = self._reads, self._writes
        return [
            (fd, (READ if found & reads else 0) | (WRITE if found & writes else 0))
            for fd, found in self._epoll.poll(timeout, AT_ONCE)
        ]


class Selector:
    """What else there is, on other systems."""

    def __init__(self) -> None:
        import selectors

        self._selector = selectors.DefaultSelector()

    def watch(self, fd: int, known: int, events: int) -> None:
        if not known:
            self._selector.register(fd, events)
        elif events:
            self._selector.modify(fd, events)
        else:
            self._selector.unregister(fd)

    def poll(self, timeout: float | None) -> list[tuple[int, int]]:
        return [(key.fd, events) for key, events in self._selector.select(timeout)]


class Reactor:
    def __init__(self, poller: Poller | None = None) -> None:
        self._poller = poller or (Epoll() if hasattr(select, "epoll") else Selector())
        self._watched: dict[int, int] = {}  # the events of each descriptor, checked on every keystroke
        self._calls: dict[int, OnReady] = {}
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0  # timers of the same time run in the order they were set

    def watch(self, fd: int, events: int, call: OnReady) -> None:
        """Call `call` on `events` of `fd`; with no events, stop watching it."""
        known = self._watched.get(fd, 0)
        if known == events:
            return
        self._poller.watch(fd, known, events)
        self._watched[fd], self._calls[fd] = events, call

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._count, call))

    def turn(self) -> None:
        timers, timeout = self._timers, None
        if timers:
            timeout = timers[0][0] - time.monotonic()
            if timeout < 0.0:
                timeout = 0.0
        for fd, events in self._poller.poll(timeout):
            if watched := self._watched[fd]:  # not removed by a call before it
                self._calls[fd](events & watched)
        while timers and timers[0][0] <= time.monotonic():
            heapq.heappop(timers)[2]()
