"""The journal of a run: what was asked, and what came back, one JSON object a line.

A line is on disk before the run goes on, so that a run that is killed at any moment can continue.
Only one process writes: it holds the lock of the run's directory.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from synapse.base import files, paths
from synapse.errors import SynapseError, TargetError

Json = dict[str, Any]

ASKED, TASK, DONE, FAILED, KEPT = "asked", "task", "done", "failed", "kept"
WORKER, LOG, STARTED, ENDED = "worker", "log", "started", "ended"


@dataclass
class Step:
    """One step: its last attempt, and its reply if it has one."""

    key: str
    prompt_hash: str = ""
    prompt: str = ""
    agent: str = ""
    address: str = ""
    attempt: int = 0
    request_id: str = ""
    task_id: str = ""
    asked_at: float = 0.0
    ended_at: float = 0.0
    error: str = ""
    canceled: bool = False
    tokens: int = 0
    task: Json | None = None  # the document of the finished task

    @property
    def depth(self) -> int:
        """Of the tree: a `gather` adds two parts to a key, and the repair of a reply one."""
        return (self.key.count(".") + 1) // 2

    @property
    def state(self) -> str:
        if self.task is not None:
            return "completed"
        if self.ended_at:
            return "canceled" if self.canceled else "failed"
        return "working"


@dataclass
class Record:
    """What a journal says, as far as it is written."""

    steps: dict[str, Step] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)  # the results of `once`
    workers: list[Json] = field(default_factory=list)
    logs: list[Json] = field(default_factory=list)
    starts: int = 0
    messages: int = 0
    turns: int = 0
    tokens: int = 0
    outcome: str = ""  # of the last start: completed, failed, interrupted, canceled; empty if it was killed
    error: str = ""

    def take(self, line: Json) -> None:
        kind, at = line.get("type"), float(line.get("at") or 0)
        if kind == STARTED:
            self.starts, self.outcome, self.error = self.starts + 1, "", ""
        elif kind == ENDED:
            self.outcome, self.error = str(line.get("outcome")), str(line.get("error") or "")
        elif kind == KEPT:
            self.kept[str(line["key"])] = line["value"]
        elif kind == WORKER:
            self.workers.append(line)
        elif kind == LOG:
            self.logs.append(line)
        elif kind == ASKED:
            names = ("key", "prompt_hash", "prompt", "agent", "address", "attempt", "request_id")
            self.messages += 1
            self.steps[str(line["key"])] = Step(**{name: line[name] for name in names}, asked_at=at)
        elif (step := self.steps.get(str(line.get("key")))) is not None:
            if kind == TASK:
                step.task_id = str(line["task_id"])
            elif kind == DONE:
                step.task, step.task_id, step.ended_at = line["task"], str(line["task"]["id"]), at
                step.tokens = int(line.get("tokens") or 0)
                self.turns += 1
                self.tokens += step.tokens
            elif kind == FAILED:
                step.error, step.ended_at, step.task = str(line["error"]), at, None
                step.canceled = bool(line.get("canceled"))

    @classmethod
    def read(cls, folder: str) -> Record:
        """A line that cannot be read is skipped: only the last one can be cut off by a kill."""
        record = cls()
        for line in _lines(os.path.join(folder, "journal.jsonl")):
            try:
                record.take(line)
            except (KeyError, TypeError, ValueError):
                continue  # of another version
        return record


class Journal:
    """The journal of a run that this process executes."""

    def __init__(self, folder: str) -> None:
        self.folder = paths.private_dir(folder)
        self._lock = self._locked()
        path = os.path.join(folder, "journal.jsonl")
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._end_torn_line()
        self.record = Record.read(folder)
        self._mutex = threading.Lock()  # steps of one run are asked from several threads

    def write(self, kind: str, durable: bool = True, **line: Any) -> None:
        """Raises SynapseError if it cannot be written; then nothing of it counts."""
        entry = {"type": kind, "at": time.time(), **line}
        data = json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        with self._mutex:
            if self._fd < 0:
                raise SynapseError(
                    f"the run {os.path.basename(self.folder)} has ended: `synapse run` starts another."
                )
            size = os.fstat(self._fd).st_size
            try:
                written = os.write(self._fd, data)
                if written < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if durable:
                    os.fdatasync(self._fd)
            except OSError as error:
                os.ftruncate(self._fd, size)
                raise SynapseError(
                    f"the journal in {self.folder} cannot be written ({error.strerror}): make room, resume."
                ) from error
            self.record.take(entry)

    def close(self) -> None:
        with self._mutex:  # a thread of the script may still run, and the number may be another file's then
            os.close(self._fd)
            os.close(self._lock)
            self._fd = -1

    def _locked(self) -> int:
        lock = os.open(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pid = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            os.close(lock)
            name = os.path.basename(self.folder)
            raise SynapseError(
                f"the run {name} is being executed (pid {pid}): `synapse runs show {name} -w` follows it."
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        return lock

    def _end_torn_line(self) -> None:
        """A line that a kill has cut off is removed, so that the next one begins a line."""
        size = os.fstat(self._fd).st_size
        position = size
        while position > 0:
            start = max(0, position - 65536)
            block = os.pread(self._fd, position - start, start)
            if (found := block.rfind(b"\n")) >= 0:
                position = start + found + 1
                break
            position = start
        if position != size:
            os.ftruncate(self._fd, position)


def is_running(folder: str) -> bool:
    """Whether a process executes this run now."""
    try:
        lock = os.open(os.path.join(folder, "lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def folder_of(run_id: str) -> str:
    """The directory of a run that exists; the beginning of its id is enough if it is unique."""
    known = [name for name in run_ids() if name == run_id] or [
        name for name in run_ids() if name.startswith(run_id)
    ]
    if len(known) > 1:
        raise TargetError(f"{run_id!r} is the beginning of several runs: {', '.join(sorted(known)[:5])}.")
    if not run_id or not known:
        raise TargetError(f"there is no run {run_id!r}: `synapse runs` lists them.")
    return os.path.join(paths.runs_dir(), known[0])


def run_ids() -> list[str]:
    """Every run that is kept, the newest first."""
    found = []
    try:
        with os.scandir(paths.runs_dir()) as entries:
            for entry in entries:
                about = os.path.join(entry.path, "run.json")
                if entry.is_dir() and (changed := files.changed_ns(about)):
                    found.append((changed, entry.name))
    except OSError:
        return []
    return [name for _, name in sorted(found, reverse=True)]


def _lines(path: str) -> Iterator[Json]:
    try:
        with open(path, "rb") as file:
            for line in file:
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if isinstance(found, dict):
                    yield found
    except OSError:
        return
