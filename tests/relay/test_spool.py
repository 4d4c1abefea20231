"""What waits for the host, and when it is given."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.relay import spool
from synapse.relay.spool import BURST_SIZE, BURST_SPAN, HOLD, HOLD_FOR, PORTION, RECENT_LIMIT, Recent, Spool


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def host() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Our end, and the host's, which reads when it is told to."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        yield ours, theirs


def taken(theirs: socket.socket) -> bytes:
    data = b""
    try:
        while piece := theirs.recv(1 << 20):
            data += piece
    except BlockingIOError:
        pass
    return data


def test_what_comes_now_and_then_is_given_at_once() -> None:
    waits = Spool(Clock())
    with host() as (ours, theirs):
        for text in (b"one", b"two"):
            waits.add(text)
            assert waits.waiting and waits.look(ours) and not waits.waiting
            assert taken(theirs) == text and waits.size == 0


def test_a_burst_is_given_in_portions_until_it_pauses() -> None:
    clock = Clock()
    waits, sent, got = Spool(clock), b"", b""
    with host() as (ours, theirs):
        for number in range(100):
            piece = b"%05d" % number * (BURST_SIZE // 5 * 4)
            waits.add(b"head", piece)
            sent += b"head" + piece
            waits.look(ours)
            assert waits.held_back, "a burst"
            got += taken(theirs)
            clock.now += BURST_SPAN / 5
        assert PORTION <= len(got) <= 16 * (PORTION + len(piece)) < len(sent) / 2, "a little, and not all"
        for _ in range(2):
            clock.now += BURST_SPAN * 1.1
            given = waits.look(ours)
        assert given
        while waits.size:
            got += taken(theirs)
            waits.give(ours)
        assert got + taken(theirs) == sent and not waits.waiting


def test_what_comes_steadily_is_not_held_back() -> None:
    clock = Clock()
    waits = Spool(clock)
    with host() as (ours, theirs):
        for _ in range(1000):
            waits.add(b"x" * (BURST_SIZE // 10))
            assert waits.look(ours)
            taken(theirs)
            clock.now += BURST_SPAN / 5


def test_a_burst_that_does_not_end_is_given_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "HOLD", 1_000_000)
    waits, sent, got, most = Spool(Clock()), 0, 0, 0
    with host() as (ours, theirs):
        for _ in range(200):
            waits.add(b"x" * BURST_SIZE)
            sent += BURST_SIZE
            waits.look(ours)
            got += len(taken(theirs))
            most = max(most, waits.size)
        assert got + waits.size == sent and 900_000 < most < 3_000_000


def test_nor_is_one_that_lasts() -> None:
    clock = Clock()
    waits = Spool(clock)
    with host() as (ours, theirs):
        while clock.now < 100 + HOLD_FOR - BURST_SPAN:
            waits.add(b"x" * BURST_SIZE)
            assert not waits.look(ours)
            taken(theirs)
            clock.now += BURST_SPAN / 2
        clock.now += BURST_SPAN
        assert waits.look(ours)


def test_a_host_that_is_gone_is_said() -> None:
    waits = Spool(Clock())
    with host() as (ours, theirs):
        theirs.close()
        waits.add(b"x")
        with pytest.raises(OSError):
            waits.give(ours)


@given(
    st.lists(st.tuples(st.binary(max_size=300_000), st.sampled_from(["look", "give", "take"])), max_size=12)
)
def test_nothing_is_lost_doubled_or_mixed(steps: list[tuple[bytes, str]]) -> None:
    waits, sent, got = Spool(Clock()), b"first", b""
    waits.begin_with(b"first")
    with host() as (ours, theirs):
        for data, then in steps:
            waits.add(data)
            sent += data
            if then == "look":
                waits.look(ours)
            elif then == "give":
                waits.give(ours)
            got += taken(theirs) if then == "take" else b""
            assert waits.size + len(got) <= len(sent)
        got += taken(theirs)
        assert got + b"".join(waits.portions()) == sent


def test_the_limits_leave_room_for_each_other() -> None:
    from synapse.relay.link import SPOOL_LIMIT

    assert BURST_SIZE < PORTION < HOLD < SPOOL_LIMIT


def test_titles_and_states_outlive_the_output_that_they_were_in() -> None:
    recent = Recent()
    recent.add(b"a\x1b]0;first\x07b\x1b]2;a title\x1b\\\x1b]7501;state=idle;\x07c")
    recent.add(b"\x1b]0;second\x07 \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b]11;?\x07 \x1b]0;cut of")
    recent.add(bytes(RECENT_LIMIT))
    assert recent.output() == bytes(RECENT_LIMIT)
    assert recent.reports() == b"\x1b]0;second\x07\x1b]2;a title\x07\x1b]7501;state=idle;\x07"
