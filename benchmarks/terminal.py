"""A program in a terminal that the benchmark reads and writes."""

from __future__ import annotations

import os
import pty
import select
import signal
import termios
import time

from synapse.terminal.screen import make_screen

COLS, ROWS = 100, 30
PATIENCE = 60.0
LOOK = 0.005  # seconds between two looks at the screen


class Terminal:
    """`redraws` says that the program draws a screen of its own, as tmux does. It may write a text in pieces,
    or only the cells that change, so that the text is searched on the rendered screen too."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: str, redraws: bool = False) -> None:
        self._screen = make_screen(COLS, ROWS) if redraws else None
        self.started = self._read_at = time.perf_counter()
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

    def wait_for(self, text: str, patience: float = PATIENCE) -> float:
        """Read until the program has written `text`; the moment when it had."""
        what, tail = text.encode(), b""
        look, deadline = 0.0, time.monotonic() + patience
        while (now := time.monotonic()) < deadline:
            tail += self._read(LOOK if self._screen else patience, f"{text!r}, but {tail!r}")
            if what in tail:
                return self._read_at
            if self._screen and now >= look:
                if text in self._screen.text():
                    return self._read_at
                look = time.monotonic() + LOOK
            tail = tail[-300:]
        raise RuntimeError(f"no {text!r} within {patience:g} s, but {tail!r}")

    def wait_for_key(self, key: bytes) -> float:
        """Read until there is `key`, a single byte, which cannot be split; the moment when it was there."""
        while key not in (data := self._read(PATIENCE, f"the echo of {key!r}")):
            if not data:
                raise RuntimeError(f"no echo of {key!r} within {PATIENCE:g} s")
        return self._read_at

    def drain(self, quiet: float = 0.0) -> None:
        """Read what there is, until nothing has come for `quiet` seconds."""
        while self._read(quiet, "its next output"):
            pass

    def settle(self, seconds: float) -> None:
        """Read what comes within this time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left, "its next output")

    def _read(self, patience: float, missing: str) -> bytes:
        """What has been written, or nothing after `patience` seconds."""
        if not self._poll.poll(patience * 1000):
            return b""
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:  # EIO: the program has ended
            raise RuntimeError(f"it ended before {missing}") from error
        self._read_at = time.perf_counter()
        if self._screen:
            self._screen.feed(data)
        return data

    def close(self) -> None:
        """End the program and wait for it. Some write at their end and wait until it is read."""
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
