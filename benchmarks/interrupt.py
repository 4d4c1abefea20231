"""Ctrl-C to silence: a program that writes all the time, on a terminal that takes 200 KB a second."""

from __future__ import annotations

import os
import select
import time

from benchmarks.peers import PYTHON, Peers, Place
from benchmarks.table import BARE, SYNAPSE, TMUX, Row, median
from benchmarks.terminal import Terminal

RATE = 200 * 1024  # bytes a second
PORTION = 2048  # bytes of one read
UNDER_WAY = 1.0  # seconds of output before the key
QUIET = 0.3  # seconds without output are silence
ROUNDS = 7
FACTOR = 3.0
_AGENT = """\
import os, signal
while True:
    try:
        os.write(1, b"what a program may write, line after line\\n" * 24)
    except KeyboardInterrupt:
        break
signal.signal(signal.SIGINT, signal.SIG_IGN)
while os.read(0, 100):
    pass
"""


def run() -> list[Row]:
    peers = Peers(BARE, TMUX, SYNAPSE)
    taken: dict[str, list[float]] = {peer: [] for peer in peers}
    with Place() as place:
        agent = f"{PYTHON} -I -S {place.file('agent.py', _AGENT)}"
        for _ in range(ROUNDS):
            for peer in peers:
                with peers.attempt(peer):
                    terminal = place.open(peer, agent)
                    taken[peer].append(_measure(terminal) * 1000)
                    place.close(terminal)
    values = {peer: median(taken[peer]) for peer in peers}
    goal = f"at most {FACTOR:g} x bare"
    met = values[SYNAPSE] <= FACTOR * values[BARE]
    return [Row("Ctrl-C to silence, slow terminal", "ms", values, goal, met, peers.notes)]


def _measure(terminal: Terminal) -> float:
    """Seconds from the key to the last byte of output."""
    terminal.wait_for("what a program")
    began = time.monotonic()
    while time.monotonic() < began + UNDER_WAY:
        _read_slowly(terminal.fd)
    terminal.write(b"\x03")
    pressed = last = time.monotonic()
    while time.monotonic() < last + QUIET:
        if _read_slowly(terminal.fd):
            last = time.monotonic()
    return last - pressed


def _read_slowly(fd: int) -> bool:
    """Read a portion and wait as long as the terminal needs for it; whether there was one."""
    if not select.select([fd], [], [], 0.02)[0]:
        return False
    time.sleep(len(os.read(fd, PORTION)) / RATE)
    return True
