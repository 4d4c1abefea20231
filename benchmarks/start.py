"""Start: from the command's exec until the agent's first byte is on the terminal."""

from __future__ import annotations

from benchmarks.peers import Place
from benchmarks.table import BARE, SYNAPSE, Row, median

ROUNDS = 17
LIMIT = 60.0


def run() -> list[Row]:
    peers = (BARE, SYNAPSE)
    taken: dict[str, list[float]] = {peer: [] for peer in peers}
    with Place() as place:
        agent = f"/bin/sh {place.file('agent', 'echo here; exec cat')}"
        for turn in range(ROUNDS + 1):  # the first fills the caches
            for peer in peers:
                terminal = place.open(peer, agent)
                milliseconds = (terminal.wait_for("here") - terminal.started) * 1e3
                if turn:
                    taken[peer].append(milliseconds)
                elif peer == SYNAPSE:
                    place.ready_agent()
                place.close(terminal)
                place.wait_no_process()
    result = {peer: median(values) for peer, values in taken.items()}
    more = [after - before for before, after in zip(taken[BARE], taken[SYNAPSE], strict=True)]
    return [
        Row("start to the agent's first byte", "ms", result),
        Row(
            "same, more than bare", "ms", {SYNAPSE: median(more)}, f"at most {LIMIT:g}", median(more) <= LIMIT
        ),
    ]
