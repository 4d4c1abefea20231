"""The agent's pseudo-terminal: spawn, read, write, resize, signal, wait. Knows nothing of agents."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import termios

from synapse.base import processes
from synapse.relay.keeper import keep, signal_at_parents_death

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from typing import Any
else:
    import _signal as signal  # `signal` itself would bring `enum`: 5 ms of every start

_WINSIZE = struct.Struct("HHHH")  # rows, columns, and the two in pixels
_READ_SIZE = 16384  # Linux gives at most 4 KB


def get_winsize(fd: int) -> bytes:
    return fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(_WINSIZE.size))


def make_winsize(cols: int, rows: int) -> bytes:
    return _WINSIZE.pack(rows, cols, 0, 0)


def split_winsize(winsize: bytes) -> tuple[int, int]:
    rows, cols, _, _ = _WINSIZE.unpack(winsize)
    return cols, rows


class Pty:
    def __init__(self, pid: int, master: int, winsize: bytes) -> None:
        self.pid = pid
        self.master = master
        self.winsize = winsize
        self._group = _foreground(master)  # the agent's own process group
        self.backlog = bytearray()  # what the agent has not yet taken
        self._status: int | None = None
        self._stopped = False
        os.set_blocking(master, False)

    @classmethod
    def spawn(
        cls, argv: Sequence[str], env: Mapping[str, str], winsize: bytes, attributes: list[Any] | None = None
    ) -> Pty:
        """Start `argv` in a session of its own on a new terminal. OSError if it cannot be started."""
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, winsize)
        if attributes is not None:
            termios.tcsetattr(slave, termios.TCSANOW, attributes)
        else:
            _set_utf8(slave)
        failed_read, failed_write = os.pipe()  # close-on-exec: a successful exec closes it empty
        pid = os.fork()
        if pid == 0:
            _become(argv, env, slave, failed_write)
        os.close(slave)
        os.close(failed_write)
        with os.fdopen(failed_read, "rb") as pipe:
            failure = pipe.read()
        if failure:
            os.close(master)
            os.waitpid(pid, 0)
            number = int(failure)
            raise OSError(number, os.strerror(number), argv[0])
        return cls(pid, master, winsize)

    def read(self) -> bytes | None:
        """What the agent has written: None if there is nothing now, b"" if there will be nothing more."""
        try:
            return os.read(self.master, _READ_SIZE)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return b""

    def write(self, data: bytes) -> None:
        if self.backlog:
            self.backlog += data
            self.flush()
        elif data:
            self._write(data)

    def flush(self) -> None:
        if self.backlog:
            data = bytes(self.backlog)
            self.backlog.clear()
            self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self.master, data)
        except BlockingIOError:
            written = 0
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return  # no process is left to read it
        if written < len(data):
            self.backlog += data[written:]

    def resize(self, winsize: bytes) -> None:
        """Signals the agent even if the size is the same: it may have changed and changed back."""
        before, self.winsize = self.winsize, winsize
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, winsize)
        if winsize == before:
            self._signal_foreground(signal.SIGWINCH)

    def is_in_front(self) -> bool:
        """Whether the agent itself reads the terminal, and no program that it has started as a job."""
        return self._group in (_foreground(self.master), 0)

    def is_cooked(self) -> bool:
        return bool(self._local_modes() & termios.ICANON)

    def line_kill(self, characters: int) -> bytes | None:
        """The keys that remove a line of so many characters, if the kernel edits it; it knows no others."""
        try:
            attributes = termios.tcgetattr(self.master)
        except termios.error:
            return None
        if not attributes[3] & termios.ICANON:
            return None
        kill, erase = attributes[6][termios.VKILL], attributes[6][termios.VERASE]
        return bytes(kill) if kill != b"\0" else bytes(erase) * characters

    def hides_input(self) -> bool:
        return self._local_modes() & (termios.ICANON | termios.ECHO) == termios.ICANON

    def _local_modes(self) -> int:
        try:
            return int(termios.tcgetattr(self.master)[3])
        except termios.error:
            return 0  # no process is left to read it

    def nudge(self) -> None:
        """Make the agent repaint: set one row less and then the real size."""
        cols, rows = split_winsize(self.winsize)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, make_winsize(cols, max(rows - 1, 1)))
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, self.winsize)

    def signal(self, number: int) -> None:
        processes.signal_all([self.pid], number)

    def signal_session(self, *numbers: int) -> None:
        processes.signal_all(processes.session_members(self.pid), *numbers)

    def resume(self) -> None:
        """Continue a stopped agent: its foreground group, not the jobs that a shell in it stopped."""
        self._signal_foreground(signal.SIGCONT)

    def _signal_foreground(self, number: int) -> None:
        try:
            os.killpg(os.tcgetpgrp(self.master), number)
        except OSError:
            pass  # there is no foreground group
        self.signal(signal.SIGCONT)

    def exited(self) -> bool:
        """Whether the agent has ended; it stays a zombie, so that its pid remains its own until `reap`."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13: no zombie, a small risk of pid reuse
            self._look()
            return self._status is not None
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stopped(self) -> bool:
        if not hasattr(os, "waitid"):
            self._look()
            stopped, self._stopped = self._stopped, False
            return stopped
        try:
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is not None
        except ChildProcessError:
            return False  # a zombie will never stop

    def _look(self) -> None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self._stopped = True
            elif pid:
                self._status = status

    def reap(self) -> int:
        """End what is left of the session; the exit status as a shell would give it."""
        processes.end_session(self.pid)
        if self._status is None:
            _, self._status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(self._status)
        return 128 - code if code < 0 else code


def _become(argv: Sequence[str], env: Mapping[str, str], slave: int, failed: int) -> None:
    """In the new process: take the terminal, start the agent in it, and keep its session."""
    try:
        os.login_tty(slave)
        agent = os.fork()
        if agent:
            keep(agent)
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # otherwise tcsetpgrp stops this process
        os.tcsetpgrp(0, os.getpid())
        signal_at_parents_death(signal.SIGKILL)
        for number in (signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execvpe(argv[0], list(argv), dict(env))
    except OSError as error:
        os.write(failed, str(error.errno or errno.ENOEXEC).encode())
    finally:
        os._exit(127)


def _foreground(master: int) -> int:
    """The process group in the foreground; 0 if there is none."""
    try:
        return os.tcgetpgrp(master)
    except OSError:
        return 0


def _set_utf8(fd: int) -> None:
    """Let the kernel's own line editing erase a whole character, as terminals set it."""
    if sys.platform == "linux":
        attributes = termios.tcgetattr(fd)
        attributes[0] |= 0o40000  # IUTF8, which Python has no name for
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
