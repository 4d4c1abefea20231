"""A shell in a terminal of its own, which is the human's while a command runs."""

from __future__ import annotations

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
from synapse.shell.channel import Asleep, Channel, Ended, Taking
from synapse.shell.dialects import Dialect
from synapse.shell.prompt_marks import PromptMarks

LATE = 0.3  # seconds for the prompt to follow: it may have been sent elsewhere (`exec 2>file`)
HANGUP = 2.0
MOST_WAITING = 1 << 16  # bytes that the terminal has not taken, before the program has to wait
FRESH = 0.005
_NO_PIDFD = 0.05


class Session:
    """The user's own shell. It lives until it is left, or until `close`."""

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
        self._before = 0  # what `$?` is to the command
        self._taken = True  # the shell has it
        self._last_key = 0.0
        self._at_prompt: Attributes | None = None  # the terminal as the last command has left it
        try:
            self._spawn(program)
        except OSError as error:
            self._channel.close()
            raise SynapseError(f"cannot start {program}: {error.strerror}; set SHELL to another.") from error
        self._join()

    # --- commands -----------------------------------------------------------------------------------------

    def run(self, line: str, before: int) -> int:
        """Run what was typed, to which `$?` is `before`. The shell may have ended afterwards."""
        self._channel.give(line.replace("\0", "").encode("utf-8", "surrogateescape"))
        self._before = before
        if self._dialect.trigger:
            self._taken = False
            self._pty.write(self._dialect.trigger)
        else:
            self._channel.go(before)
        self._join()
        return self.status

    def hang_up(self) -> None:
        """As a terminal that is closed; the jobs are told."""
        if self.exit_status is None:
            self._shut()
            self.exit_status = self.status

    def close(self) -> None:
        self.hang_up()
        self._channel.close()

    @property
    def output(self) -> int:
        """Readable when something in the background has written."""
        return self._pty.master

    def read_output(self) -> bytes:
        data = self._pty.read()
        return self._marks.feed(data) if data else b""

    @property
    def facts(self) -> int:
        """Readable when the shell has something to tell; between commands too, if keys have gone astray."""
        return self._channel.facts

    def hear(self) -> None:
        for fact in self._channel.read():
            self._hear(fact)

    # --- the two terminals joined -------------------------------------------------------------------------

    def _join(self) -> None:
        """Until the shell is at its prompt or has ended, what it writes is shown and every key is its own."""
        self._resize()
        handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: self._resize()),
            signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),  # Ctrl-C is a key of the command's
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
            if self._channel.facts in readable:
                for fact in self._channel.read():
                    if self._hear(fact):
                        ended, late = True, time.monotonic() + LATE
            if not ended and self._has_ended():
                break
        self._console.write(self._marks.rest())

    def _hear(self, fact: object) -> bool:
        """Whether the command has ended with it."""
        if isinstance(fact, Taking):
            self._show_typing()
            self._taken = True
            self._channel.go(self._before)
        elif isinstance(fact, Asleep):
            self._pty.write(self._dialect.wakes)
        elif isinstance(fact, Ended):
            self.status, self.jobs, self.directory = fact
            self._take_typed_ahead()
            if self._dialect.trigger:
                self._channel.go()
            return self._taken  # else of a line that came before it
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
        reading = [self._channel.facts]
        if len(self._pty.backlog) < MOST_WAITING and not ended:
            reading.append(self._console.in_fd)
        if len(self._console.backlog) < MOST_WAITING:
            reading.append(self._pty.master)
        if self._life >= 0:
            reading.append(self._life)
        elif patience is None:
            patience = _NO_PIDFD
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
        self._let_go()
        return True

    def _resize(self) -> None:
        try:
            winsize = self._console.winsize()
            if winsize != self._pty.winsize:
                self._pty.resize(winsize)
        except OSError:
            pass  # the terminal is gone: reading from it says so

    # --- the shell's terminal at its prompt ---------------------------------------------------------------

    def _take_typed_ahead(self) -> None:
        """What the commands have not read was meant for the prompt, and our prompt is another one.

        From now on the terminal does not echo: what we type at the shell's own prompt is not to be seen.
        """
        if time.monotonic() - self._last_key < FRESH:
            time.sleep(FRESH)  # the kernel hands keys on in a moment of its own
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
                self._show_typing()
        except (OSError, termios.error):
            pass  # hung up meanwhile

    def _show_typing(self) -> None:
        if self._at_prompt is not None:
            termios.tcsetattr(self._slave, termios.TCSANOW, self._at_prompt)

    # --- the process --------------------------------------------------------------------------------------

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
        self._life = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1

    def _shut(self) -> None:
        self._let_go()
        if self._life_ends():
            os.waitpid(self._pty.pid, 0)

    def _life_ends(self) -> bool:
        """Whether a shell that was hung up on has ended soon; one that ignores it is let be."""
        deadline = time.monotonic() + HANGUP
        while not self._pty.exited():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _let_go(self) -> None:
        for fd in (self._pty.master, self._slave, self._life):
            if fd >= 0:
                os.close(fd)
        self._life = self._slave = -1


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
