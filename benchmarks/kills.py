"""Kills of host, relay and agent at every receipt of a task and at random: tasks lost, doubled, left open."""

from __future__ import annotations

from benchmarks.table import SYNAPSE, Row
from tests.support.home import new_home
from tests.support.kills import POINTS, VICTIMS, Killing

ROUNDS = 3  # at each point
RANDOM = 6  # at random moments, of each victim


def run() -> list[Row]:
    with new_home() as home, home.ours():
        killing = Killing(home)
        for victim in VICTIMS:
            for point in [*(POINTS * ROUNDS), *[None] * RANDOM]:
                killing.kill(victim, point)
    tally = killing.tally
    points = {point for _, point in tally.kills if point in POINTS}
    rows = [
        Row(
            "kills: receipt points", "", {SYNAPSE: len(points)}, f"{len(POINTS)}", len(points) == len(POINTS)
        ),
        Row("kills of host, relay and agent", "", {SYNAPSE: tally.kills.total()}),
    ]
    for what, found in (
        ("lost", tally.lost),
        ("typed twice", tally.twice),
        ("without an end", tally.endless),
    ):
        rows.append(Row(f"kills: tasks {what}", "", {SYNAPSE: len(found)}, "0", not found, found))
    return rows
