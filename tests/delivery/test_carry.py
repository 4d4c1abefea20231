"""What is known of one task on its way: whether the agent has taken it, and what to tell of its reply."""

from __future__ import annotations

import pytest

from synapse.delivery.carry import PROGRESS_INTERVAL, PROGRESS_INTERVAL_SCREEN, Carry, mark_of
from synapse.tasks.store import TaskStore
from synapse.tasks.task import text_message
from synapse.watch.turns import Turn


def carry() -> Carry:
    return Carry(TaskStore().create(text_message("x")), "[A2A:12345678:user]", "[A2A:12345678:user] hi")


@pytest.mark.parametrize(
    ("turn", "by_channel", "by_screen"),
    [
        (None, False, False),
        (Turn(1, 0.0, "x"), False, False),
        (Turn(1, 0.0, "x", accepted=True), True, True),
        (Turn(1, 0.0, "x", busy=True), True, True),
        (Turn(1, 0.0, "x", ended_at=1.0, reply="too fast to be seen"), False, True),
        (Turn(1, 0.0, "x", ended_at=1.0, outcome="completed"), False, True),
        (Turn(1, 0.0, "x", ended_at=1.0, outcome="failed"), False, False),
    ],
)
def test_when_a_message_is_taken(turn: Turn | None, by_channel: bool, by_screen: bool) -> None:
    carried = carry()
    carried.turn = turn
    assert carried.is_taken(screen_only=False) is by_channel
    assert carried.is_taken(screen_only=True) is by_screen
    assert carried.over is (turn is None or turn.ended_at is not None)


def test_a_turn_is_known_by_the_mark_in_its_prompt() -> None:
    carried = carry()
    assert carried.begins(Turn(1, 0.0, f"> {carried.mark} do it"))
    assert not carried.begins(Turn(1, 0.0, "[A2A:87654321:user] do it"))
    assert not carried.begins(Turn(1, 0.0, None))
    assert mark_of("[A2A:12345678:user] do [it]") == carried.mark


def test_a_reply_is_told_in_pieces_and_anew_where_it_has_changed() -> None:
    carried = carry()
    assert carried.next_piece("one", 1.0) == ("one", False)
    assert carried.next_piece("one two", 2.0) == (" two", True)
    assert carried.next_piece("three", 3.0) == ("three", False)
    assert (carried.told, carried.told_at) == ("three", 3.0)


def test_a_screen_is_looked_at_less_often_than_a_channel() -> None:
    carried = carry()
    carried.next_piece("one", 10.0)
    assert carried.next_look(10.0) == PROGRESS_INTERVAL_SCREEN
    carried.turn = Turn(1, 0.0, "x", accepted=True)
    assert carried.next_look(10.0) == pytest.approx(PROGRESS_INTERVAL)
    assert carried.next_look(99.0) == PROGRESS_INTERVAL / 2
