"""The private way between us and the shell: what it tells, and the command it is given. Not its terminal."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import NamedTuple

from synapse.base import files, paths


class Ended(NamedTuple):
    """A command has ended; the shell is at its prompt."""

    status: int
    jobs: int
    directory: bytes


class Taking:
    """The shell waits to be given the command that was announced."""


class Asleep:
    """The shell must be woken before it can take anything."""


Fact = Ended | Taking | Asleep


class Channel:
    """A directory of our own with two pipes, `facts` and `go`, and the file `line`."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="shell-", dir=paths.runtime_dir())
        try:
            for name in ("facts", "go"):
                os.mkfifo(self._path(name), 0o600)
            # Both ends open: neither the shell nor we ever wait for the other to come, or see an end.
            self.facts = os.open(self._path("facts"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            self._go = os.open(self._path("go"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._buffer = b""

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write_file(self, name: str, data: bytes) -> None:
        files.replace(self._path(name), data)

    def give(self, line: bytes) -> None:
        self.write_file("line", line)

    def go(self, status: int = 0) -> None:
        """Let the shell go on; `status` is what `$?` is to be."""
        os.write(self._go, b"%d\n" % status)

    def read(self) -> list[Fact]:
        try:
            self._buffer += os.read(self.facts, 65536)
        except BlockingIOError:
            return []
        *frames, self._buffer = self._buffer.split(b"\0")
        return [fact for frame in frames if (fact := _fact(frame)) is not None]

    def close(self) -> None:
        for fd in (self.facts, self._go):
            os.close(fd)
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            os.rmdir(os.path.dirname(self.folder))
        except OSError:
            pass  # agents have their sockets there


def _fact(frame: bytes) -> Fact | None:
    if frame[:1] == b"T":
        return Taking()
    if frame[:1] == b"P":
        return Asleep()
    status, _, rest = frame[1:].partition(b" ")
    jobs, _, directory = rest.partition(b" ")
    if frame[:1] != b"E" or not status.isdigit():
        return None
    return Ended(int(status), int(jobs) if jobs.strip().isdigit() else 0, directory)
