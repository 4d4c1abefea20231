"""`synapse mcp`: the time until it answers its client, and its memory, beside a Python that does nothing."""

from __future__ import annotations

import json
import subprocess
import time

from benchmarks import proc
from benchmarks.peers import COMMAND, PYTHON, Place
from benchmarks.table import BARE, SYNAPSE, Row, median

ROUNDS = 5
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
IDLE = "import sys; print(flush=True); sys.stdin.read()"


def run() -> list[Row]:
    with Place() as place:
        taken: dict[str, list[tuple[float, float]]] = {BARE: [], SYNAPSE: []}
        for turn in range(ROUNDS + 1):  # the first fills the caches
            for name, argv in ((BARE, [PYTHON, "-c", IDLE]), (SYNAPSE, [COMMAND, "mcp"])):
                found = _start(place, argv)
                if turn:
                    taken[name].append(found)
    started = {name: median([milliseconds for milliseconds, _ in all_]) for name, all_ in taken.items()}
    memory = {name: median([megabytes for _, megabytes in all_]) for name, all_ in taken.items()}
    return [Row("synapse mcp, start to its answer", "ms", started), Row("synapse mcp, memory", "MB", memory)]


def _start(place: Place, argv: list[str]) -> tuple[float, float]:
    """Milliseconds until its first line, and megabytes, shared ones in part."""
    began = time.perf_counter()
    with subprocess.Popen(
        argv, env=place.env, cwd=place.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        if not server.stdout.readline():
            raise RuntimeError(f"{argv} did not answer")
        milliseconds = (time.perf_counter() - began) * 1e3
        _, megabytes = proc.memory(server.pid)
        server.stdin.close()
    return milliseconds, megabytes
