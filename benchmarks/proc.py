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
    return [pid for pid in _all() if mark.encode() in read(f"/proc/{pid}/environ").split(b"\0")]


def children(pid: int) -> list[int]:
    """By the parent that each process names: not every kernel has a file of children."""
    return [child for child in _all() if _stat(child)[1:2] == [str(pid).encode()]]


def host_of(relay: int) -> int:
    for pid in children(relay):
        if b"synapse.host" in read(f"/proc/{pid}/cmdline"):
            return pid
    raise RuntimeError(f"process {relay} has no host")


def _all() -> list[int]:
    """Nothing where there is no /proc."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []


def _stat(pid: int) -> list[bytes]:
    """The fields after the name: state, parent, …"""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def memory(pid: int) -> tuple[float, float]:
    """Resident and proportional set size, in MB."""
    fields = dict(line.split(b":", 1) for line in read(f"/proc/{pid}/smaps_rollup").splitlines()[1:])
    if b"Pss" not in fields:
        raise RuntimeError(f"the memory of process {pid} cannot be read")
    return int(fields[b"Rss"].split()[0]) / 1024, int(fields[b"Pss"].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Time spent running, of all threads, to the nanosecond; to the clock tick where schedstat is missing."""
    threads = os.listdir(f"/proc/{pid}/task")
    exact = [read(f"/proc/{pid}/task/{thread}/schedstat").split() for thread in threads]
    if all(exact):
        return sum(int(fields[0]) for fields in exact) / 1e9
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICK
