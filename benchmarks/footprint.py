"""Footprint: the memory of an agent's relay and host, and the processor time they take while idle."""

from __future__ import annotations

import time

from benchmarks import proc
from benchmarks.peers import PYTHON, Peers, Place
from benchmarks.table import BARE, SYNAPSE, TMUX, Row

SETTLE, IDLE = 3.0, 20.0
RELAY_LIMIT = 16.0  # MB
CPU_LIMIT = 0.1  # percent
HOST = "synapse, host"


def run() -> list[Row]:
    peers = Peers(TMUX, SYNAPSE)
    with Place() as place:
        agent = f"/bin/sh {place.file('agent', 'echo here; exec cat')}"
        sleeper = place.file("sleeper.py", "import time\nprint('here', flush=True)\ntime.sleep(1000)\n")
        bare = place.open(BARE, f"{PYTHON} {sleeper}")
        bare.wait_for("here")
        pids = {BARE: bare.pid}
        pids |= {peer: terminal.pid for peer, terminal in peers.open(place, agent, "here").items()}
        place.ready_agent()
        pids[HOST] = proc.host_of(pids[SYNAPSE])
        if TMUX in peers:
            with peers.attempt(TMUX):
                pids[TMUX] = _tmux_server(place)
        found = _measure(peers, pids)
    host = [{SYNAPSE: values.pop(HOST)} for values in found]
    memory, share, cpu = found
    limit, idle = f"at most {RELAY_LIMIT:g}", f"below {CPU_LIMIT:g}"
    return [
        Row("relay, resident", "MB", memory, limit, memory[SYNAPSE] <= RELAY_LIMIT, peers.notes),
        Row("relay, proportional share", "MB", share),
        Row("host, resident", "MB", host[0]),
        Row("host, proportional share", "MB", host[1]),
        Row("relay, idle", "% CPU", cpu, idle, cpu[SYNAPSE] < CPU_LIMIT),
        Row("host, idle", "% CPU", host[2], idle, host[2][SYNAPSE] < CPU_LIMIT),
    ]


def _measure(peers: Peers, pids: dict[str, int]) -> tuple[dict[str, float], ...]:
    """Of each: resident and proportional memory in MB, and processor time in percent."""
    before, memory, share, cpu = (dict[str, float]() for _ in range(4))
    time.sleep(SETTLE)
    for peer in (BARE, *peers, HOST):
        with peers.attempt(peer):
            before[peer] = proc.cpu_seconds(pids[peer])
    time.sleep(IDLE)
    for peer in (BARE, *peers, HOST):
        with peers.attempt(peer):
            memory[peer], share[peer] = proc.memory(pids[peer])
            cpu[peer] = (proc.cpu_seconds(pids[peer]) - before[peer]) / IDLE * 100
    return memory, share, cpu


def _tmux_server(place: Place) -> int:
    """The tmux process that has children: a client has none."""
    for pid in place.processes():
        if b"new-session" in proc.read(f"/proc/{pid}/cmdline") and proc.children(pid):
            return pid
    raise RuntimeError("no server process was found")
