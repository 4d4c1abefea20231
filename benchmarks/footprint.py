"""Footprint: the memory of an agent's relay and host, and the processor time they take while idle."""

from __future__ import annotations

import time

from benchmarks import proc
from benchmarks.peers import PYTHON, Place, available
from benchmarks.table import BARE, SYNAPSE, TMUX, Row

SETTLE, IDLE = 3.0, 20.0
RELAY_LIMIT = 16.0  # MB
CPU_LIMIT = 0.1  # percent


def run() -> list[Row]:
    with Place() as place:
        agent = f"/bin/sh {place.file('agent', 'echo here; exec cat')}"
        sleeper = place.file("sleeper.py", "import time\nprint('here', flush=True)\ntime.sleep(1000)\n")
        pids = {}
        for peer in available(BARE, TMUX, SYNAPSE):
            terminal = place.open(peer, f"{PYTHON} {sleeper}" if peer == BARE else agent)
            terminal.wait_for(b"here")
            pids[peer] = terminal.pid
        place.ready_agent()
        if TMUX in pids:
            pids[TMUX] = _tmux_server(place)
        host = proc.host_of(pids[SYNAPSE])
        time.sleep(SETTLE)
        before = {pid: proc.cpu_seconds(pid) for pid in (*pids.values(), host)}
        time.sleep(IDLE)
        cpu = {pid: (proc.cpu_seconds(pid) - spent) / IDLE * 100 for pid, spent in before.items()}
        memory = {pid: proc.memory(pid) for pid in before}
    relay = pids[SYNAPSE]
    resident, idle = f"at most {RELAY_LIMIT:g}", f"below {CPU_LIMIT:g}"
    return [
        Row("relay, resident", "MB", _of(pids, memory, 0), resident, memory[relay][0] <= RELAY_LIMIT),
        Row("relay, proportional share", "MB", _of(pids, memory, 1)),
        Row("host, resident", "MB", {SYNAPSE: memory[host][0]}),
        Row("host, proportional share", "MB", {SYNAPSE: memory[host][1]}),
        Row("relay, idle", "% CPU", {p: cpu[pid] for p, pid in pids.items()}, idle, cpu[relay] < CPU_LIMIT),
        Row("host, idle", "% CPU", {SYNAPSE: cpu[host]}, idle, cpu[host] < CPU_LIMIT),
    ]


def _of(pids: dict[str, int], memory: dict[int, tuple[float, float]], which: int) -> dict[str, float]:
    return {peer: memory[pid][which] for peer, pid in pids.items()}


def _tmux_server(place: Place) -> int:
    """The one of its processes that has left our terminal's session for its own, and is nobody's client."""
    found = [pid for pid in place.processes() if b"new-session" in proc.read(f"/proc/{pid}/cmdline")]
    return next(pid for pid in found if proc.children(pid))
