"""The agent's pseudo-terminal: spawn, read, write, resize, signal, wait. Knows nothing of agents."""

from __future__ import annotations

import _socket
import errno
import fcntl
import os
import struct
import sys
import termios
import time

from synapse.base import processes
from synapse.relay.keeper import HANG_UP, HOST, STATUS_SIZE, Keeper, foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from typing import Any
else:
    import _signal as signal  # `signal` itself would bring `enum`: 5 ms of every start

_WINSIZE = struct.Struct("HHHH")  # rows, columns, and the two in pixels
_READ_SIZE = 16384  # Linux gives at most 4 KB
_STATUS_TIMEOUT = 2.0  # seconds for the keeper to report the end of an agent that was killed


def get_winsize(fd: int) -> bytes:
    return fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(_WINSIZE.size))


def make_winsize(cols: int, rows: int) -> bytes:
    return _WINSIZE.pack(rows, cols, 0, 0)


def split_winsize(winsize: bytes) -> tuple[int, int]:
    rows, cols, _, _ = _WINSIZE.unpack(winsize)
    return cols, rows


class Pty:
    """`pid` leads the session: the keeper, which `control` is connected to, or else the program itself."""

    def __init__(self, pid: int, master: int, winsize: bytes, control: int = -1) -> None:
        self.pid = pid
        self.master = master
        self.winsize = winsize
        self.control = control  # readable when the agent has ended
        self._group = foreground(master)  # the agent's own process group
        self.backlog = bytearray()  # what the agent has not yet taken
        self._status: int | None = None
        self._stopped = False
        os.set_blocking(master, False)
        if control >= 0:
            os.set_blocking(control, False)

    @classmethod
    def spawn(
        cls,
        argv: Sequence[str],
        env: Mapping[str, str],
        winsize: bytes,
        attributes: list[Any] | None = None,
        stderr: int | None = None,
        human: dict[str, Any] | None = None,
    ) -> Pty:
        """Start `argv` in a session of its own on a new terminal. OSError if it cannot be started.

        `stderr` is for the agent instead of the terminal; `human` describes the terminal that the keeper
        restores if this process is killed."""
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, winsize)
        if attributes is not None:
            termios.tcsetattr(slave, termios.TCSANOW, attributes)
        else:
            _set_utf8(slave)
        failed_read, failed_write = os.pipe()  # close-on-exec: a successful exec closes it empty
        ours, theirs = (end.detach() for end in _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM))
        pid = os.fork()
        if pid == 0:
            keeper = (theirs, master, human)
            _become(argv, env, slave=slave, stderr=stderr, failed=failed_write, keeper=keeper)
        for fd in (slave, failed_write, theirs):
            os.close(fd)
        with os.fdopen(failed_read, "rb") as pipe:
            failure = pipe.read()
        if failure:
            os.close(master)
            os.close(ours)
            os.waitpid(pid, 0)
            number = int(failure)
            raise OSError(number, os.strerror(number), argv[0])
        return cls(pid, master, winsize, ours)

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
        self._set_size(winsize)
        if winsize == before:
            self._signal_foreground(signal.SIGWINCH)

    def is_in_front(self) -> bool:
        """Whether the agent itself reads the terminal, and no program that it has started as a job."""
        return self._group in (foreground(self.master), 0)

    def reader(self) -> int:
        """The process that leads the foreground, and so most likely reads the keys; 0 if there is none."""
        return foreground(self.master)

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

    def discards_output_at(self, keys: bytes) -> bool:
        """Whether the kernel takes one of these keys for a signal, and discards the output before it."""
        try:
            attributes = termios.tcgetattr(self.master)
        except termios.error:
            return False
        if attributes[3] & (termios.ISIG | termios.NOFLSH) != termios.ISIG:
            return False
        signals = (attributes[6][which] for which in (termios.VINTR, termios.VQUIT, termios.VSUSP))
        return any(key != b"\0" and key in keys for key in signals)

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
        self._set_size(make_winsize(cols, max(rows - 1, 1)))
        self._set_size(self.winsize)

    def _set_size(self, winsize: bytes) -> None:
        try:
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, winsize)
        except OSError:
            pass  # it has been hung up

    def signal(self, number: int) -> None:
        processes.signal_all([self.pid], number)

    def signal_session(self, *numbers: int) -> None:
        """All processes of the session but the keeper, which reports how the agent ends."""
        keeper = self.pid if self.control >= 0 else 0
        processes.signal_all([pid for pid in processes.session_members(self.pid) if pid != keeper], *numbers)

    def hang_up(self) -> None:
        """What closing a window does: the terminal is dead, the program in the foreground gets SIGHUP."""
        self.backlog.clear()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, self.master, inheritable=False)
        os.close(null)
        # Now the keeper has the last descriptor: the terminal is dead when the signal comes. Otherwise a
        # program in it that asks (Synapse itself) would take it for a signal like any other.
        self._tell(HANG_UP)

    def tell_host(self, pid: int) -> None:
        """The process that restores the human's terminal if this one is killed."""
        self._tell(b"%b %d" % (HOST, pid))

    def _tell(self, line: bytes) -> None:
        try:
            os.write(self.control, line + b"\n")
        except OSError:
            pass  # the keeper was killed

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
        """Whether the agent has ended. The leader's pid remains its own until `reap`."""
        if self._status is not None:
            return True
        if self.control >= 0:
            self._hear()
        elif hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        else:  # macOS before Python 3.13: no zombie, a small risk of pid reuse
            self._look()
        return self._status is not None

    @property
    def status(self) -> int:
        """Of an agent that has ended, as `subprocess` gives it: negative if a signal killed it."""
        assert self._status is not None
        return os.waitstatus_to_exitcode(self._status)

    def _hear(self) -> None:
        """The keeper's report. If it is gone without one, it was killed and the kernel killed the agent."""
        try:
            data = os.read(self.control, STATUS_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._status = int.from_bytes(data, "big") if data else int(signal.SIGKILL)

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

    def reap(self, end: bool = False) -> int:
        """Returns `status`, after the agent has ended.

        `end` ends every process of the session first; otherwise those that the agent left behind live on."""
        if end:
            processes.end_session(self.pid, spare=self.pid if self.control >= 0 else 0)
        deadline = time.monotonic() + _STATUS_TIMEOUT
        while not self.exited() and time.monotonic() < deadline:
            time.sleep(0.002)
        if self.control >= 0:
            os.close(self.control)
            self.control = -1
        try:
            _, status = os.waitpid(self.pid, os.WNOHANG)  # the keeper may stay
        except ChildProcessError:
            status = 0
        if self._status is None:
            self._status = status
        return self.status


def _become(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    slave: int,
    stderr: int | None,
    failed: int,
    keeper: tuple[int, int, dict[str, Any] | None],
) -> None:
    """In the new process: take the terminal, start the agent in it, and keep its session."""
    try:
        theirs = os.dup(stderr) if stderr is not None else -1
        os.login_tty(slave)
        agent = os.fork()
        if agent:
            Keeper(agent, *keeper).keep()
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # otherwise tcsetpgrp stops this process
        os.tcsetpgrp(0, os.getpid())
        processes.signal_at_parents_death(signal.SIGKILL)
        if theirs >= 0:
            os.dup2(theirs, 2)
        for number in (signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execvpe(argv[0], list(argv), dict(env))
    except OSError as error:
        os.write(failed, str(error.errno or errno.ENOEXEC).encode())
    finally:
        os._exit(127)


def _set_utf8(fd: int) -> None:
    """Let the kernel's own line editing erase a whole character, as terminals set it."""
    if sys.platform == "linux":
        attributes = termios.tcgetattr(fd)
        attributes[0] |= 0o40000  # IUTF8, which Python has no name for
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
