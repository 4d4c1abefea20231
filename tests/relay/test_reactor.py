"""The relay's event loop, with Linux's own way of waiting and with the one of other systems."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator

import pytest

from synapse.relay.reactor import READ, WRITE, Epoll, Reactor, Selector


@pytest.fixture(params=[Epoll, Selector])
def reactor(request: pytest.FixtureRequest) -> Reactor:
    if request.param is Epoll and not hasattr(select, "epoll"):
        pytest.skip("this system has no epoll")
    return Reactor(request.param())


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_only_the_events_that_are_watched_are_reported(
    reactor: Reactor, ends: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = ends
    seen: list[int] = []
    theirs.send(b"x")
    for events in (READ, WRITE, READ | WRITE):
        reactor.watch(ours.fileno(), events, seen.append)
        reactor.turn()
    assert seen == [READ, WRITE, READ | WRITE]
    reactor.watch(ours.fileno(), 0, seen.append)
    reactor.later(0, lambda: seen.append(0))
    reactor.turn()
    assert seen[3:] == [0]


def test_the_end_of_the_other_side_is_something_to_read(
    reactor: Reactor, ends: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = ends
    seen: list[int] = []
    reactor.watch(ours.fileno(), READ, seen.append)
    theirs.close()
    reactor.turn()
    assert seen == [READ]


def test_a_call_may_end_the_watch_over_another_descriptor(reactor: Reactor) -> None:
    pipes = [os.pipe() for _ in range(2)]
    seen: list[int] = []

    def first_or_second(number: int) -> None:
        seen.append(number)
        for read, _ in pipes:
            reactor.watch(read, 0, lambda _: None)

    for number, (read, write) in enumerate(pipes):
        reactor.watch(read, READ, lambda _, number=number: first_or_second(number))  # type: ignore[misc]
        os.write(write, b"x")
    reactor.turn()
    assert len(seen) == 1
    for fd in (fd for pipe in pipes for fd in pipe):
        os.close(fd)


def test_a_descriptor_that_was_closed_can_be_let_go(reactor: Reactor) -> None:
    read, write = os.pipe()
    reactor.watch(read, READ, lambda _: None)
    os.close(read)
    os.close(write)
    reactor.watch(read, 0, lambda _: None)
    reactor.later(0, lambda: None)
    reactor.turn()


def test_timers_run_in_order_and_none_is_early(reactor: Reactor) -> None:
    seen: list[str] = []
    reactor.later(0.01, lambda: seen.append("third"))
    reactor.later(0, lambda: seen.append("first"))
    reactor.later(0, lambda: seen.append("second"))
    while len(seen) < 3:
        reactor.turn()
    assert seen == ["first", "second", "third"]
