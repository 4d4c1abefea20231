"""Two agents that thank each other for ever, or wait for each other, are stopped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.tasks.engine import TaskEngine
from synapse.tasks.loop_guard import KEY, PAIRS, Chain, LoopGuard
from synapse.tasks.store import TaskStore
from synapse.tasks.task import LoopRefused, text_message


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def said(*hops: str, waiting: object = None) -> dict[str, object]:
    return {KEY: {"hops": list(hops), **({"waiting": waiting} if waiting is not None else {})}}


def test_a_message_of_no_agent_is_always_taken() -> None:
    guard = LoopGuard(("me",), per_minute=1)
    assert all(
        guard.check(metadata) is None for metadata in ({}, None, {KEY: "x"}, {"a": 1}) for _ in range(9)
    )


def test_hops() -> None:
    guard = LoopGuard(("me",), max_hops=3)
    assert guard.check(said("a", "b", "c")) is None
    found = guard.check(said("a", "b", "a", "b"))
    assert found is not None and "4 times" in found.sentence and not found.too_often
    assert LoopGuard(max_hops=0).check(said(*"abcdefghijkl")) is None


def test_a_pair_that_talks_too_often_may_go_on_later() -> None:
    clock = Clock()
    guard = LoopGuard(("me",), per_minute=3, clock=clock)
    for _ in range(3):
        assert guard.check(said("a")) is None
    found = guard.check(said("a"))
    assert found is not None and found.too_often
    assert guard.check(said("b")) is None, "another pair"
    clock.now += 60
    assert guard.check(said("a")) is None


def test_two_that_wait_for_each_other() -> None:
    first = Chain().then("a", waits=True)
    second = first.then("b", waits=True)
    guard = LoopGuard(("a", "claude"))
    found = guard.check({KEY: second.to_dict()})
    assert found is not None and "without waiting" in found.sentence
    assert guard.check({KEY: first.then("b", waits=False).to_dict()}) is None, "b does not wait"
    assert guard.check({KEY: Chain().then("a", False).then("b", True).to_dict()}) is None, "a does not"
    there = first.then("b", waits=False).then("c", waits=True)
    assert guard.check({KEY: there.to_dict()}) is None, "b will be done without c, and a without b"
    assert LoopGuard(("b",)).check({KEY: first.then("c", True).to_dict()}) is None
    assert guard.check(said("a", "b", waiting=True)) is not None


LEAF = st.none() | st.booleans() | st.text() | st.integers()
NAMES = st.sampled_from([KEY, "hops", "waiting"])


@given(st.recursive(LEAF, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_whatever_the_metadata_says(metadata: object) -> None:
    LoopGuard(("me",)).check(metadata, {KEY: metadata})


def test_it_forgets_the_longest_silent() -> None:
    guard = LoopGuard(("me",), clock=Clock())
    for number in range(PAIRS + 50):
        guard.check(said(str(number)))
    assert len(guard._times) == PAIRS


def test_the_engine_refuses() -> None:
    engine = TaskEngine(TaskStore())
    engine.guard = LoopGuard(("me",), max_hops=1, per_minute=2)
    with pytest.raises(LoopRefused) as far:
        engine.submit(text_message("hello"), metadata=said("a", "b"))
    assert (far.value.code, far.value.status) == ("LOOP", 409)
    first = engine.submit(text_message("hello"), metadata=said("a"), request_id="1")
    engine.submit(text_message("hello", metadata=said("a")))  # as the standard's clients carry it
    assert engine.submit(text_message("hello"), metadata=said("a"), request_id="1") is first, (
        "not counted twice"
    )
    with pytest.raises(LoopRefused) as often:
        engine.submit(text_message("hello"), metadata=said("a"))
    assert often.value.status == 429
    engine.submit(text_message("hello"))
    engine.store.close()
