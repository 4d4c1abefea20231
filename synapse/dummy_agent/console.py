"""The terminal and the signals of the process: waits for both, and restores the terminal modes."""

import os
import select
import signal
import termios
from collections.abc import Iterable
from typing import Any

FATAL = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
LAST_WORDS_TIMEOUT = 0.5
_PIPE_CHUNK = 4096  # a pipe that select calls writable takes this much without blocking


class Leave(Exception):
    """Ends the process with this status, after the terminal was restored."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Console:
    """Standard input and output. Signals arrive with the input; a fatal one raises Leave out of any wait."""

    def __init__(self, watched: Iterable[int], immortal: bool = False) -> None:
        self.is_terminal = os.isatty(0)
        self._immortal = immortal
        self._modes = termios.tcgetattr(0) if self.is_terminal else None
        self._pending: list[int] = []
        self._reading = True
        self._out, self._own = self._open_output()
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (*watched, *FATAL):
            signal.signal(number, lambda *_: None)  # the number comes through the wake-up descriptor
        if immortal:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _open_output(self) -> tuple[int, bool]:
        """Opens the terminal again: O_NONBLOCK on the shared description would affect the shell too."""
        try:
            return os.open(os.ttyname(1), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK), True
        except OSError:
            return 1, False

    def size(self) -> tuple[int, int]:
        try:
            columns, rows = os.get_terminal_size(0)
        except OSError:
            columns, rows = 0, 0
        return columns or 80, rows or 24

    def wait(
        self, timeout: float | None, reading: bool = True, writing: bool = False
    ) -> tuple[bytes | None, list[int]]:
        """Input (b"" at its end, None if there is none) and signals, as soon as there is something."""
        watched = [self._wake, 0] if reading and self._reading else [self._wake]
        if self._pending:
            timeout = 0
        ready, _, _ = select.select(watched, [self._out] if writing else [], [], timeout)
        if self._wake in ready:
            self._collect()
        data = self._read() if 0 in ready else None
        signals, self._pending = self._pending, []
        return data, signals

    def _collect(self) -> None:
        try:
            self._pending += os.read(self._wake, 4096)
        except BlockingIOError:
            return
        for number in FATAL:
            if number in self._pending:
                raise Leave(128 + number)

    def _read(self) -> bytes | None:
        try:
            data = os.read(0, 65536)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data and self.is_terminal:
            try:
                termios.tcgetattr(0)
            except termios.error:
                self._hang_up()
                return None
        return data

    def _hang_up(self) -> None:
        if not self._immortal:
            raise Leave(128 + signal.SIGHUP)
        self._reading = False  # otherwise select would report the end of the input for ever

    def write(self, text: str | bytes) -> None:
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        while data:
            data = data[self.offer(data) :]
            if data:
                ready, _, _ = select.select([self._wake], [self._out], [])
                if ready:
                    self._collect()

    def offer(self, data: bytes) -> int:
        if not self._own:
            data = data[:_PIPE_CHUNK] if select.select([], [self._out], [], 0)[1] else b""
        try:
            return os.write(self._out, data) if data else 0
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise Leave(128 + signal.SIGPIPE) from None
        except OSError:
            self._hang_up()
            return len(data)

    def raw(self) -> None:
        """Raw input. Output processing stays on, so that a traceback is readable."""
        if not self._modes:
            return
        iflag, oflag, cflag, lflag, ispeed, ospeed, cc = self._modes
        iflag &= ~(termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON)
        lflag &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        cc = [*cc]
        cc[termios.VMIN], cc[termios.VTIME] = 1, 0
        self._set([iflag, oflag, cflag, lflag, ispeed, ospeed, cc])

    def silence(self) -> None:
        if self._modes:
            self._set([*self._modes[:3], self._modes[3] & ~termios.ECHO, *self._modes[4:]])

    def restore(self, last_words: str = "") -> None:
        """Restores the modes. Waits only briefly for a terminal that is not read."""
        data = last_words.encode("utf-8", "replace")
        try:
            while data and select.select([], [self._out], [], LAST_WORDS_TIMEOUT)[1]:
                data = data[os.write(self._out, data) :]
        except OSError:
            pass  # the terminal is gone, and so is what was to be restored
        if self._modes:
            self._set(self._modes)

    def _set(self, modes: list[Any]) -> None:
        try:
            termios.tcsetattr(0, termios.TCSANOW, modes)
        except termios.error:
            pass  # hung up
