"""The private pipes between us and the shell: it reports events and receives commands."""

import os
import shutil
import tempfile
from typing import NamedTuple

from synapse.base import files, paths


class CommandEnded(NamedTuple):
    """A command has ended; the shell is at its prompt."""

    status: int
    jobs: int
    directory: bytes


AWAITS_COMMAND = "T"  # the shell waits for the command that was announced
MUST_BE_WOKEN = "P"  # the shell must be woken before it can take a command
Event = CommandEnded | str


class Channel:
    """A directory of our own with two pipes, `facts` and `go`, and the file `line`."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="shell-", dir=paths.runtime_dir())
        try:
            for name in ("facts", "go"):
                os.mkfifo(self._path(name), 0o600)
            # We keep both ends open: opening never blocks, and reading never finds the end of the file.
            self.events = os.open(self._path("facts"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            self._go = os.open(self._path("go"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._buffer = b""

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write_file(self, name: str, data: bytes) -> None:
        files.replace(self._path(name), data)

    def give(self, line: str) -> None:
        """Write the next command for the shell, which cannot contain a NUL."""
        self.write_file("line", line.replace("\0", "").encode("utf-8", "surrogateescape"))

    def go(self, status: int = 0) -> None:
        os.write(self._go, b"%d\n" % status)

    def read(self) -> list[Event]:
        try:
            self._buffer += os.read(self.events, 65536)
        except BlockingIOError:
            return []
        *frames, self._buffer = self._buffer.split(b"\0")
        return [event for frame in frames if (event := _event(frame)) is not None]

    def close(self) -> None:
        for fd in (self.events, self._go):
            os.close(fd)
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            os.rmdir(os.path.dirname(self.folder))
        except OSError:
            pass  # the sockets of agents are in it


def _event(frame: bytes) -> Event | None:
    kind = frame[:1].decode("latin-1")
    if kind in (AWAITS_COMMAND, MUST_BE_WOKEN):
        return kind
    status, _, rest = frame[1:].partition(b" ")
    jobs, _, directory = rest.partition(b" ")
    if kind != "E" or not status.isdigit():
        return None
    return CommandEnded(int(status), int(jobs) if jobs.strip().isdigit() else 0, directory)
