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
    p50, p99 = (
        {peer: median([percentile(taken, share) for taken in samples[peer][1:]]) for peer in (*peers, POLLED)}
        for share in (50, 99)
    )
    goal, met = "at most tmux", at_most(p50[SYNAPSE], p50.get(TMUX))
    return [
        Row("keystroke echo, p50", "µs", p50, goal, met, peers.notes),
        Row("keystroke echo, p99", "µs", p99),
        Row("same, /status polled 20/s, p50", "µs", {SYNAPSE: p50[POLLED]}),
        Row("same, /status polled 20/s, p99", "µs", {SYNAPSE: p99[POLLED]}),
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
