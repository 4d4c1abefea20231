"""Footprint: the memory of an agent's relay and host, and the processor time they take while idle."""

from __future__ import annotations

import json
import statistics
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from benchmarks import proc
from benchmarks.peers import COMMAND, PYTHON, Peers, Place
from benchmarks.table import BARE, SYNAPSE, TMUX, Row
from synapse.registry import Entry

SETTLE, IDLE = 3.0, 20.0
RELAY_LIMIT = 16.0  # MB
CPU_LIMIT = 0.1  # percent
HOST = "synapse, host"
SETTLE_MANY = 15.0  # seconds until each has loaded everything
MANY = 30  # agents that run at the same time
SHARE_LIMIT = 40.0  # MB
BODY = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
    "params": {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "say x"}]}},
}).encode()  # fmt: skip


def run() -> list[Row]:
    return [*_one_agent(), *_many_agents()]


def _many_agents(number: int = MANY) -> list[Row]:
    """The mean over the hosts of many agents that have each served a message of the A2A standard, and then
    one of `synapse send`, which uses the specifications' endpoints."""
    with Place() as place:
        names = [f"agent{index}" for index in range(number)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: place.run(COMMAND, "start", "dummy", "--name", name), names))
        agents = place.agents()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for entry in agents:
            headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
            opener.open(urllib.request.Request(f"{entry['endpoint']}/", BODY, headers), timeout=60).read()
        standard = _mean_share(agents)
        for name in names:
            place.run(COMMAND, "send", name, "--return", "say y")
        both = _mean_share(agents)
    figure, goal = f"host, proportional share, {number} running and served", f"at most {SHARE_LIMIT:g}"
    return [
        Row(figure, "MB", {SYNAPSE: standard}, goal, standard <= SHARE_LIMIT),
        Row("same, and a message of synapse send", "MB", {SYNAPSE: both}, goal, both <= SHARE_LIMIT),
    ]


def _mean_share(agents: list[Entry]) -> float:
    time.sleep(SETTLE)
    return statistics.mean(proc.memory(proc.host_of(int(str(entry["pid"]))))[1] for entry in agents)


def _one_agent() -> list[Row]:
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
        _many_idle(),
    ]


def _many_idle() -> Row:
    """What relay and host of one agent take together while many run and nothing happens."""
    with Place() as place, ThreadPoolExecutor(4) as pool:
        place.profile(f"/bin/sh {place.file('agent', 'echo here; exec cat')}")
        names = [f"a{number}" for number in range(MANY)]
        list(pool.map(lambda name: place.run(COMMAND, "start", "agent", "--name", name), names))
        relays = [int(str(entry["pid"])) for entry in place.agents()]
        pids = [*relays, *map(proc.host_of, relays)]
        time.sleep(SETTLE_MANY)
        before = sum(map(proc.cpu_seconds, pids))
        time.sleep(IDLE)
        each = (sum(map(proc.cpu_seconds, pids)) - before) / IDLE / MANY * 100
    return Row(
        f"{MANY} agents idle, each", "% CPU", {SYNAPSE: each}, f"below {CPU_LIMIT:g}", each < CPU_LIMIT
    )


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
