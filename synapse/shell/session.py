"""The user's shell in a terminal of its own, joined to the human's terminal while a command runs."""

import os
import select
import signal
import termios
import time
from collections.abc import Sequence

from synapse.errors import SynapseError
from synapse.relay.console import Attributes, Console
from synapse.relay.pty import Pty
from synapse.shell import dialects
from synapse.shell.channel import AWAITS_COMMAND, MUST_BE_WOKEN, Channel, CommandEnded
from synapse.shell.dialects import Dialect
from synapse.shell.prompt_marks import PromptMarks

PROMPT_SECONDS = 0.3  # to wait for the prompt after a command: it may go to a file (`exec 2>file`)
HANGUP_SECONDS = 2.0  # to wait for a shell that was hung up
MOST_BUFFERED = 1 << 16  # bytes; above that, nothing more is read for that terminal
KEY_SECONDS = 0.005  # until the kernel has passed a key on to the shell's terminal
_POLL_SECONDS = 0.05  # where the system has no pidfd


class Session:
    """The user's own shell. It runs until the human exits it, or until `close`."""

    def __init__(self, program: str, dialect: Dialect, console: Console) -> None:
        self.status = 0  # of the last command
        self.jobs = 0
        self.directory = os.fsencode(os.getcwd())
        self.typed_ahead = b""
        self.exit_status: int | None = None
        self._dialect = dialect
        self._console = console
        self._marks = PromptMarks()
        self._channel = Channel()
        self.events = self._channel.events  # readable when the shell reports something
        self._previous_status = 0  # `$?` when the command starts
        self._taken = True  # the shell has read the command
        self._last_key = 0.0
        self._at_prompt: Attributes | None = None  # the terminal as the last command has left it
        try:
            self._spawn(program)
        except OSError as error:
            self._channel.close()
            raise SynapseError(f"cannot start {program}: {error.strerror}; set SHELL to another.") from error
        self._join()

    def run(self, line: str, before: int) -> int:
        """Run a line; `$?` is `before` when it starts. `exit_status` is set if the shell has ended."""
        self._channel.give(line)
        self._previous_status = before
        if self._dialect.trigger:
            self._taken = False
            self._pty.write(self._dialect.trigger)
        else:
            self._channel.go(before)
        self._join()
        return self.status

    def hang_up(self) -> None:
        """Close the terminal: the shell and its jobs get SIGHUP."""
        if self.exit_status is not None:
            return
        self._close_terminal()
        deadline = time.monotonic() + HANGUP_SECONDS
        while not self._pty.exited() and time.monotonic() < deadline:
            time.sleep(0.005)
        if self._pty.exited():  # a shell that ignores the signal is left running
            os.waitpid(self._pty.pid, 0)
        self.exit_status = self.status

    def close(self) -> None:
        self.hang_up()
        self._channel.close()

    def read_output(self) -> bytes:
        data = self._pty.read()
        return self._marks.feed(data) if data else b""

    def read_events(self) -> None:
        for event in self._channel.read():
            self._handle(event)

    def _join(self) -> None:
        """Until the shell is at its prompt or has ended, show what it writes and give it every key."""
        self._resize()
        handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: self._resize()),
            signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),  # Ctrl-C is for the command
        }
        self._console.enter_raw()
        try:
            self._relay()
            self.typed_ahead += self._console.read() or b""  # while its Enter is still a carriage return
        finally:
            self._console.drain()
            self._console.restore()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _relay(self) -> None:
        seen = self._marks.seen
        ended = False
        late = 0.0
        while not (ended and self._marks.seen > seen):
            readable = self._select(ended, max(late - time.monotonic(), 0) if ended else None)
            if ended and time.monotonic() > late:
                break
            if self._pty.master in readable and (data := self._pty.read()):
                self._console.write(self._marks.feed(data))
            if self._console.in_fd in readable:
                self._take_keys()
            if self._channel.events in readable:
                for event in self._channel.read():
                    if self._handle(event):
                        ended, late = True, time.monotonic() + PROMPT_SECONDS
            if not ended and self._has_ended():
                break
        self._console.write(self._marks.rest())

    def _handle(self, event: object) -> bool:
        if event == AWAITS_COMMAND:
            self._restore_echo()
            self._taken = True
            self._channel.go(self._previous_status)
        elif event == MUST_BE_WOKEN:
            self._pty.write(self._dialect.wakes)
        elif isinstance(event, CommandEnded):
            self.status, self.jobs, self.directory = event
            self._take_typed_ahead()
            if self._dialect.trigger:
                self._channel.go()
            return self._taken  # if not, it is about an earlier line
        return False

    def _take_keys(self) -> None:
        data = self._console.read()
        if data == b"":
            raise HungUp
        if data:
            self._pty.write(data)
            self._last_key = time.monotonic()

    def _select(self, ended: bool, patience: float | None) -> list[int]:
        self._pty.flush()
        reading = [self._channel.events]
        if len(self._pty.backlog) < MOST_BUFFERED and not ended:
            reading.append(self._console.in_fd)
        if len(self._console.backlog) < MOST_BUFFERED:
            reading.append(self._pty.master)
        if self._pidfd >= 0:
            reading.append(self._pidfd)
        elif patience is None:
            patience = _POLL_SECONDS
        writing = [self._console.out_fd] if self._console.backlog else []
        writing += [self._pty.master] if self._pty.backlog else []
        readable, writable, _ = select.select(reading, writing, [], patience)
        if self._console.out_fd in writable:
            self._console.flush()
        return readable + writable

    def _has_ended(self) -> bool:
        if not self._pty.exited():
            return False
        while data := self._pty.read():
            self._console.write(self._marks.feed(data))
        _, status = os.waitpid(self._pty.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.status = self.exit_status = 128 - code if code < 0 else code
        self._close_terminal()
        return True

    def _resize(self) -> None:
        try:
            winsize = self._console.winsize()
            if winsize != self._pty.winsize:
                self._pty.resize(winsize)
        except OSError:
            pass  # the terminal is gone: reading from it reports that

    def _take_typed_ahead(self) -> None:
        """Take the keys that no command has read: they were meant for the prompt, which is ours.

        From here on the terminal does not echo, so that what we type at the shell's own prompt is not shown.
        """
        if time.monotonic() - self._last_key < KEY_SECONDS:
            time.sleep(KEY_SECONDS)
        try:
            self._at_prompt = found = termios.tcgetattr(self._slave)
            control = list(found[6])
            control[termios.VMIN], control[termios.VTIME] = 0, 0
            local = found[3] & ~(termios.ECHO | termios.ECHONL)
            termios.tcsetattr(
                self._slave, termios.TCSANOW, [*found[:3], local & ~termios.ICANON, *found[4:6], control]
            )
            self.typed_ahead += os.read(self._slave, 65536)
            if self._dialect.trigger:
                termios.tcsetattr(self._slave, termios.TCSANOW, [*found[:3], local, *found[4:]])
            else:
                self._restore_echo()
        except (OSError, termios.error):
            pass  # hung up in the meantime

    def _restore_echo(self) -> None:
        if self._at_prompt is not None:
            termios.tcsetattr(self._slave, termios.TCSANOW, self._at_prompt)

    def _spawn(self, program: str) -> None:
        folder = self._channel.folder
        marks = (self._marks.prompt, self._marks.hide)
        argv, more, files = dialects.interactive(self._dialect, program, folder, marks, os.environ)
        for name, text in files.items():
            self._channel.write_file(name, os.fsencode(text))
        master, self._slave = os.openpty()
        termios.tcsetattr(self._slave, termios.TCSANOW, self._console.saved)
        pid = _fork(argv, {**os.environ, **more}, self._slave)
        self._pty = Pty(pid, master, b"")
        self.output = master  # readable when a background job has written
        self._pidfd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1

    def _close_terminal(self) -> None:
        for fd in (self._pty.master, self._slave, self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._pidfd = self._slave = -1


class HungUp(Exception):
    """The human's terminal is gone."""


def _fork(argv: Sequence[str], env: dict[str, str], slave: int) -> int:
    """The shell leads its session, as in any terminal."""
    failed_read, failed_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.login_tty(slave)
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execve(argv[0], list(argv), env)
        except OSError as error:
            os.write(failed_write, b"%d" % (error.errno or 0))
        finally:
            os._exit(127)
    os.close(failed_write)
    with os.fdopen(failed_read, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(pid, 0)
        raise OSError(int(failure), os.strerror(int(failure)))
    return pid
