"""A human's terminal: raw mode, size, reading and writing. Knows nothing of the agent."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import termios
import time

from synapse.relay.pty import get_winsize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Attributes = list[Any]  # as termios gives and takes them
else:
    Attributes = list

RESTORE_TIMEOUT = 0.5  # seconds for a terminal that does not read


class Console:
    def __init__(self, in_fd: int, out_fd: int, paths: tuple[str, str] = ("", "")) -> None:
        self.in_fd = in_fd
        self.out_fd = out_fd
        self.paths = paths  # for a process that restores the terminal when the relay was killed
        self.saved: Attributes = termios.tcgetattr(in_fd)
        self.raw = _raw(self.saved)
        self.backlog = bytearray()  # what the terminal has not yet taken
        self._was_blocking = (os.get_blocking(in_fd), os.get_blocking(out_fd))
        os.set_blocking(in_fd, False)
        os.set_blocking(out_fd, False)

    @classmethod
    def of_this_process(cls) -> Console:
        """The terminal on standard input and output, opened again if possible: O_NONBLOCK on fd 0 itself
        would also apply to the user's shell."""
        fds, paths = [], []
        for fd, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY)):
            try:
                path = os.ttyname(fd)
                fds.append(os.open(path, flags | os.O_NOCTTY | os.O_CLOEXEC))
            except OSError:  # another user's terminal, or one of another mount namespace
                path = ""
                fds.append(os.dup(fd))
            paths.append(path)
        return cls(fds[0], fds[1], (paths[0], paths[1]))

    def winsize(self) -> bytes:
        return get_winsize(self.out_fd)

    def enter_raw(self) -> None:
        termios.tcsetattr(self.in_fd, termios.TCSANOW, self.raw)  # nothing typed ahead is flushed

    def restore(self) -> None:
        try:
            termios.tcsetattr(self.in_fd, termios.TCSADRAIN, self.saved)
        except termios.error:
            pass  # the terminal is gone

    def is_gone(self) -> bool:
        """Whether the window was closed."""
        try:
            termios.tcgetattr(self.in_fd)
        except termios.error:
            return True
        return False

    def in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self.in_fd) == os.getpgrp()
        except OSError:
            return True  # not our controlling terminal, so no job control applies

    def unread(self) -> int:
        """How many bytes the human has typed that were not read."""
        try:
            return int.from_bytes(fcntl.ioctl(self.in_fd, termios.FIONREAD, bytes(4)), sys.byteorder)
        except OSError:
            return 0

    def read(self, at_most: int = 65536) -> bytes | None:
        """What the human typed: None if nothing now, b"" if the terminal is gone."""
        try:
            return os.read(self.in_fd, at_most)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno == errno.EIO:
                return b""
            raise

    def write(self, data: bytes) -> None:
        if not self.backlog:
            try:
                data = data[os.write(self.out_fd, data) :]
            except BlockingIOError:
                pass
            except OSError:
                return  # gone: the read side reports it
        self.backlog += data

    def flush(self) -> None:
        while self.backlog:
            try:
                del self.backlog[: os.write(self.out_fd, self.backlog)]
            except BlockingIOError:
                return
            except OSError:
                self.backlog.clear()

    def drain(self) -> None:
        """Write what is left, however slowly the terminal reads; give up after 5 s without progress."""
        import select

        while self.backlog:
            _, writable, _ = select.select([], [self.out_fd], [], 5.0)
            if not writable:
                self.backlog.clear()
            self.flush()

    def discard(self) -> None:
        """Forget what the terminal has not yet taken, as the kernel does at Ctrl-C."""
        self.backlog.clear()
        try:
            termios.tcflush(self.out_fd, termios.TCOFLUSH)
        except termios.error:
            pass  # the terminal is gone

    def close(self) -> None:
        for fd, blocking in zip((self.in_fd, self.out_fd), self._was_blocking, strict=True):
            try:
                os.set_blocking(fd, blocking)  # the description may be shared: attached, or not reopened
                os.close(fd)
            except OSError:
                pass

    def describe(self) -> dict[str, Any]:
        return {"paths": list(self.paths), "saved": _plain(self.saved), "raw": _plain(self.raw)}


def restore_terminal(description: dict[str, Any], undo: Callable[[bool], bytes]) -> None:
    """Undo modes and raw mode from another process, after the relay was killed.

    Raw mode only if it is still on: a shell that has taken the terminal back has set its own. `undo` is
    called with whether it has.
    """
    fd = _open(description)
    if fd < 0:
        return
    try:
        is_raw = _has_flags(fd, description["raw"])
        # The modes first: a shell sets its own soon after it has found the terminal restored.
        _write_within(RESTORE_TIMEOUT, fd, undo(not is_raw))
        if is_raw:
            termios.tcsetattr(fd, termios.TCSANOW, _rebuilt(description["saved"]))
    except (OSError, termios.error):
        pass
    finally:
        os.close(fd)


def _open(description: dict[str, Any]) -> int:
    if not all(description["paths"]):
        return -1
    try:
        return os.open(description["paths"][0], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return -1


def _has_flags(fd: int, attributes: Attributes) -> bool:
    """Flags alone: control characters come back as bytes or numbers depending on the mode."""
    return termios.tcgetattr(fd)[:4] == attributes[:4]


def _write_within(seconds: float, fd: int, data: bytes) -> None:
    deadline = time.monotonic() + seconds
    while data and time.monotonic() < deadline:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:  # full, or another process is writing to it
            time.sleep(0.001)


def _raw(attributes: Attributes) -> Attributes:
    iflag, oflag, cflag, lflag, ispeed, ospeed, control = attributes
    iflag &= ~(
        termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP
        | termios.INLCR | termios.IGNCR | termios.ICRNL | termios.IXON
    )  # fmt: skip
    oflag &= ~termios.OPOST
    lflag &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
    cflag = cflag & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    control = list(control)
    control[termios.VMIN], control[termios.VTIME] = 1, 0
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, control]


def _plain(attributes: Attributes) -> list[Any]:
    return [*attributes[:6], [c[0] if isinstance(c, bytes) else -1 - c for c in attributes[6]]]


def _rebuilt(plain: list[Any]) -> Attributes:
    return [*plain[:6], [bytes([c]) if c >= 0 else -1 - c for c in plain[6]]]
