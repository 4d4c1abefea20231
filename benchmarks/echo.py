"""Keystroke echo: from a key written to a terminal until the program's echo of it can be read there."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.peers import PYTHON, Peers, Place
from benchmarks.table import BARE, SCRIPT, SYNAPSE, TMUX, Row, at_most, median, percentile
from benchmarks.terminal import Terminal

ROUNDS, KEYS = 10, 200
PAUSE = (0.0015, 0.004)  # tmux takes keys within a millisecond of each other for a paste
POLLED = "synapse, polled"
BUSY = 2  # other processes that keep the processors busy
BUSY_FACTOR = 1.2
_ALPHABET = b"owvz"  # letters that end no escape sequence
_AGENT = """\
import os, tty
tty.setraw(0)
os.write(1, b"to your keys")
while key := os.read(0, 1024):
    os.write(1, key)
"""
_POLLER = """\
import sys, time, http.client
while True:
    connection = http.client.HTTPConnection("localhost", int(sys.argv[1]))
    connection.request("GET", "/status")
    assert connection.getresponse().status == 200
    connection.close()
    time.sleep(0.05)
"""


def run() -> list[Row]:
    peers = Peers(BARE, SCRIPT, TMUX, SYNAPSE)
    with Place() as place, ExitStack() as stack:
        agent = f"{PYTHON} -I -S {place.file('agent.py', _AGENT)}"
        terminals = peers.open(place, agent, "to your keys")
        poller = stack.enter_context(_polling(str(place.ready_agent()["port"]), place))
        samples: dict[str, list[list[float]]] = {peer: [] for peer in (*peers, POLLED)}
        for turn in range(ROUNDS + 1):  # the first to warm up
            keys = KEYS if turn else KEYS // 4
            for peer in peers:
                with peers.attempt(peer):
                    samples[peer].append(_measure(terminals[peer], keys))
            poller.send_signal(signal.SIGCONT)
            samples[POLLED].append(_measure(terminals[SYNAPSE], keys))
            poller.send_signal(signal.SIGSTOP)
        if poller.poll() is not None:
            raise RuntimeError("GET /status failed while keys were measured")
        busy = _measure_busy(peers, terminals)
    p50, p99 = (
        {peer: median([percentile(taken, share) for taken in samples[peer][1:]]) for peer in (*peers, POLLED)}
        for share in (50, 99)
    )
    goal, met = "at most tmux", at_most(p50[SYNAPSE], p50.get(TMUX))
    goal_busy = f"at most {BUSY_FACTOR:g} x tmux"
    met_busy = at_most(busy[SYNAPSE], BUSY_FACTOR * busy[TMUX]) if TMUX in busy else None
    return [
        Row("keystroke echo, p50", "µs", p50, goal, met, peers.notes),
        Row("keystroke echo, p99", "µs", p99),
        Row("same, /status polled 20/s, p50", "µs", {SYNAPSE: p50[POLLED]}),
        Row("same, /status polled 20/s, p99", "µs", {SYNAPSE: p99[POLLED]}),
        Row(f"same, {BUSY} other processes busy, p50", "µs", busy, goal_busy, met_busy),
    ]


def _measure(terminal: Terminal, keys: int) -> list[float]:
    """The echo of so many keys, in microseconds."""
    taken = []
    for number in range(keys):
        if number % 80 == 0:
            terminal.write(b"\r\n")
            terminal.drain(0.02)
        time.sleep(random.uniform(*PAUSE))
        terminal.drain()
        key = random.choice(_ALPHABET).to_bytes()
        started = time.perf_counter()
        terminal.write(key)
        taken.append((terminal.wait_for_key(key) - started) * 1e6)
    return taken


def _measure_busy(peers: Peers, terminals: dict[str, Terminal]) -> dict[str, float]:
    """The median echo of each peer while other processes compute."""
    samples: dict[str, list[float]] = {peer: [] for peer in peers}
    others = [subprocess.Popen([PYTHON, "-I", "-S", "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        for _ in range(ROUNDS):
            for peer in peers:
                with peers.attempt(peer):
                    samples[peer].append(percentile(_measure(terminals[peer], KEYS // 2), 50))
    finally:
        for other in others:
            other.kill()
            other.wait()
    return {peer: median(samples[peer]) for peer in peers}


@contextmanager
def _polling(port: str, place: Place) -> Iterator[subprocess.Popen[bytes]]:
    """A client that asks the agent for its status 20 times a second; it is stopped at first."""
    poller = subprocess.Popen([PYTHON, "-c", _POLLER, port], env=place.env)
    try:
        time.sleep(0.3)
        poller.send_signal(signal.SIGSTOP)
        yield poller
    finally:
        poller.kill()
        poller.wait()
