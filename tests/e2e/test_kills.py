"""Kills at every receipt of a task, and at random. benchmarks/kills.py does it for longer."""

from __future__ import annotations

import pytest

from tests.support.home import Home
from tests.support.kills import POINTS, VICTIMS, Killing


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_at_any_point_loses_nothing_and_types_nothing_twice(home: Home, victim: str) -> None:
    killing = Killing(home)
    for point in (*(POINTS if victim == "host" else ("queued", "submitted")), None):
        killing.kill(victim, point)
    tally = killing.tally
    assert (tally.lost, tally.twice, tally.endless) == ([], [], [])
