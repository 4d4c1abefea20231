"""What the kernel says of processes (Linux)."""

from __future__ import annotations

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""  # it has just ended


def marked(mark: str) -> list[int]:
    """The processes with `mark` in their environment."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if mark.encode() in read(f"/proc/{pid}/environ").split(b"\0")]


def children(pid: int) -> list[int]:
    return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]


def host_of(relay: int) -> int:
    return next(pid for pid in children(relay) if b"synapse.host" in read(f"/proc/{pid}/cmdline"))


def memory(pid: int) -> tuple[float, float]:
    """Resident and proportional set size, in MB."""
    fields = dict(line.split(b":", 1) for line in read(f"/proc/{pid}/smaps_rollup").splitlines()[1:])
    return int(fields[b"Rss"].split()[0]) / 1024, int(fields[b"Pss"].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Time spent running, of all threads, to the nanosecond; to the clock tick where schedstat is missing."""
    threads = os.listdir(f"/proc/{pid}/task")
    exact = [read(f"/proc/{pid}/task/{thread}/schedstat").split() for thread in threads]
    if all(exact):
        return sum(int(fields[0]) for fields in exact) / 1e9
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK
