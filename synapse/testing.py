"""A terminal to test programs in, with a real PTY and a real screen model: wait for what a user would see.

Synapse's own tests and its demo use it, and so can authors of profiles:

    with Terminal(["synapse", "dummy"], cols=80, rows=24) as terminal:
        terminal.wait_for("dummy>")
        terminal.type("hello\\r")
        terminal.wait_for("You said: hello")
"""

from __future__ import annotations

import os
import select
import signal
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType

from synapse.base import processes
from synapse.relay.pty import Pty, make_winsize
from synapse.terminal.screen import make_screen

PATIENCE = 30.0  # seconds


class Terminal:
    """One program in a terminal of its own."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        cols: int = 80,
        rows: int = 24,
        attributes: list[int | list[bytes | int]] | None = None,
    ) -> None:
        self.raw = bytearray()  # everything the program wrote
        self.screen = make_screen(cols, rows)
        self.pty = Pty.spawn(argv, os.environ if env is None else env, make_winsize(cols, rows), attributes)
        self.screen.on_reply(self.pty.write)
        self._status: int | None = None
        self._closed = False

    @property
    def pid(self) -> int:
        return self.pty.pid

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._status is None:
            self.pty.signal_session(signal.SIGTERM, signal.SIGHUP)  # an interactive shell ignores SIGTERM
            try:
                self.wait_exit(5.0)
            except AssertionError:
                self.pty.signal_session(signal.SIGKILL)
                self.wait_exit(5.0)
        self.close()
        self.pty.reap()
        with suppress(ChildProcessError):  # reaped already
            os.waitpid(self.pid, 0)
        os.close(self.pty.master)

    def close(self) -> None:
        """Close the window, as a human does: what still has the terminal open is hung up."""
        if not self._closed:
            self._closed = True
            self.pty.hang_up()

    def type(self, text: str | bytes) -> None:
        self.pty.write(text.encode() if isinstance(text, str) else text)

    def resize(self, cols: int, rows: int) -> None:
        self.screen.resize(cols, rows)
        self.pty.resize(make_winsize(cols, rows))

    def pump(self, seconds: float = 0.05) -> bool:
        """Read what the program writes within `seconds`; False when it will write no more."""
        readable, _, _ = select.select(
            [self.pty.master], [self.pty.master] if self.pty.backlog else [], [], seconds
        )
        self.pty.flush()
        if readable:
            data = self.pty.read()
            if data:
                self.raw += data
                self.screen.feed(data)
            return data != b""
        return True

    def wait(self, condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0 or not (self.pump(min(left, 0.05)) or condition()):
                raise AssertionError(
                    f"no {what} on the screen:\n{self.screen.text()}\nraw: {self.raw[-2000:]!r}"
                )

    def wait_for(self, text: str, patience: float = PATIENCE) -> None:
        self.wait(lambda: text in self.screen.text(), repr(text), patience)

    def wait_until_gone(self, text: str, patience: float = PATIENCE) -> None:
        self.wait(lambda: text not in self.screen.text(), f"end of {text!r}", patience)

    def wait_exit(self, patience: float = PATIENCE) -> int:
        """Until the program has ended; its exit status as a shell would give it."""
        deadline = time.monotonic() + patience
        while self._status is None:
            alive = self.pump(0.01)
            if self.pty.exited():
                while self.pump(0.02) and select.select([self.pty.master], [], [], 0.02)[0]:
                    pass
                self._status = processes.shell_status(self.pty.status)
            elif time.monotonic() > deadline:
                raise AssertionError(f"it did not end:\n{self.screen.text()}")
            elif not alive:
                time.sleep(0.01)
        return self._status

    def attributes(self) -> list[int | list[bytes | int]]:
        """The termios settings of the terminal, as the program has left them."""
        return termios.tcgetattr(self.pty.master)
