"""Keystroke echo: from a key written to a terminal until the program's echo of it can be read there."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.peers import PYTHON, Place, available
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
    peers = available(BARE, SCRIPT, TMUX, SYNAPSE)
    with Place() as place, ExitStack() as stack:
        agent = f"{PYTHON} -I -S {place.file('agent.py', _AGENT)}"
        terminals = {peer: place.open(peer, agent) for peer in peers}
        for terminal in terminals.values():
            terminal.wait_for(b"to your keys")
        poller = stack.enter_context(_polling(str(place.ready_agent()["port"]), place))
        terminals[POLLED] = terminals[SYNAPSE]
        samples: dict[str, list[list[float]]] = {peer: [] for peer in terminals}
        for turn in range(ROUNDS + 1):  # the first to warm up
            for peer, terminal in terminals.items():
                if peer == POLLED:
                    poller.send_signal(signal.SIGCONT)
                taken = _measure(terminal, KEYS if turn else KEYS // 4)
                if peer == POLLED:
                    poller.send_signal(signal.SIGSTOP)
                if turn:
                    samples[peer].append(taken)
        if poller.poll() is not None:
            raise RuntimeError("GET /status failed while keys were measured")
    p50 = {peer: median([percentile(taken, 50) for taken in rounds]) for peer, rounds in samples.items()}
    p99 = {peer: median([percentile(taken, 99) for taken in rounds]) for peer, rounds in samples.items()}
    return [
        Row("keystroke echo, p50", "µs", p50, "at most tmux", at_most(p50[SYNAPSE], p50.get(TMUX))),
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
        taken.append((terminal.wait_for(key) - started) * 1e6)
    return taken


@contextmanager
def _polling(port: str, place: Place) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody who asks the agent for its status 20 times a second, stopped for now."""
    poller = subprocess.Popen([PYTHON, "-c", _POLLER, port], env=place.env)
    try:
        time.sleep(0.3)
        poller.send_signal(signal.SIGSTOP)
        yield poller
    finally:
        poller.kill()
        poller.wait()
