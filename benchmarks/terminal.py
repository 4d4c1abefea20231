"""A program in a terminal whose other end is ours."""

from __future__ import annotations

import os
import pty
import select
import signal
import termios
import time

COLS, ROWS = 100, 30
PATIENCE = 60.0


class Terminal:
    def __init__(self, argv: list[str], env: dict[str, str], cwd: str) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                termios.tcsetwinsize(0, (ROWS, COLS))
                os.chdir(cwd)
                os.execve(argv[0], argv, env)
            finally:
                os._exit(127)
        self._poll = select.poll()
        self._poll.register(self.fd, select.POLLIN)

    def write(self, data: bytes) -> None:
        os.write(self.fd, data)

    def wait_for(self, what: bytes) -> float:
        """Take in the output until `what` is in it; the moment it was."""
        tail = b""
        while True:
            if not self._poll.poll(PATIENCE * 1000):
                raise RuntimeError(f"no {what!r} within {PATIENCE:g} s, but {tail!r}")
            try:
                data = os.read(self.fd, 65536)
            except OSError as error:  # EIO: the program has ended
                raise RuntimeError(f"it ended without {what!r}, but with {tail!r}") from error
            tail += data
            if what in tail:
                return time.perf_counter()
            tail = tail[-300:]

    def drain(self, quiet: float = 0.0) -> None:
        """Take in whatever there is, until nothing has come for `quiet` seconds."""
        while self._poll.poll(quiet * 1000):
            os.read(self.fd, 65536)

    def close(self) -> None:
        """End the program and wait for it, reading on: some write a last word and wait until it is taken."""
        os.kill(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + 8
        while not os.waitpid(self.pid, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
            try:
                if self._poll.poll(10):
                    os.read(self.fd, 65536)
            except OSError:
                time.sleep(0.005)
        os.close(self.fd)
