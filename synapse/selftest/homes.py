"""Temporary homes. Its owner holds a lock on a file in each; one whose owner was killed is removed later."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synapse.base import processes

PREFIX = "synd-"  # of the names of temporary directories; short, as sockets have 107 bytes
MARK = "SYNAPSE_DRIVE"  # in the environment of every process of a trial: the path of its home
LOCK = ".owner"


@contextmanager
def temporary_home() -> Iterator[Path]:
    """Removed at the end, with all that is in it. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    lock = -1
    try:
        lock = _make_lock(folder)
        yield folder
    finally:
        _remove(folder)
        if lock >= 0:
            os.close(lock)


def remove_abandoned() -> None:
    """Remove the homes that our user made and whose owner has ended, and end what still runs in them."""
    try:
        found = [entry.path for entry in os.scandir(tempfile.gettempdir()) if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for path in found:
        folder = Path(path).resolve()
        if (lock := _take_lock(Path(path))) >= 0:
            end_all(folder)
            _remove(folder)
            os.close(lock)


def end_all(folder: Path) -> None:
    """Kill what is left of a trial: a CLI may have left its session (Linux only)."""
    mark = f"{MARK}={folder}".encode()
    for _ in range(50):
        left = [pid for pid in _pids() if mark in _environ(pid)]
        if not left:
            return
        processes.signal_all(left, signal.SIGKILL)
        time.sleep(0.02)


def _make_lock(folder: Path) -> int:
    """It appears under its name only when it is locked: nobody sees it without its owner."""
    hidden = folder / f"{LOCK}-new"
    lock = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(hidden, folder / LOCK)
    except OSError:
        os.close(lock)
        raise
    return lock


def _take_lock(folder: Path) -> int:
    """The lock of a home that is ours and has no owner any more, else -1."""
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return -1
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1  # there is none: nobody knows whose it is
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink:  # else another process has just removed it
            return lock
    except OSError:
        pass  # its owner lives
    os.close(lock)
    return -1


def _remove(folder: Path) -> None:
    """The lock goes last: what a kill in the middle leaves is removed the next time."""
    for _ in range(20):  # a process that was just killed may have written once more
        left = [path for path in _listed(folder) if path.name != LOCK]
        for path in left:
            _remove_one(path)
        if not left:
            with suppress(OSError):
                os.unlink(folder / LOCK)
            with suppress(OSError):
                os.rmdir(folder)
        if not folder.exists():
            return
        time.sleep(0.05 if left else 0)


def _remove_one(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _environ(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
