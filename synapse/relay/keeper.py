"""The leader of the agent's session: a fork of the relay that waits for the agent.

Without it the agent itself would lead the session and its process group would be orphaned. The kernel
discards the stop signal of Ctrl-Z for an orphaned group, so vim and less would ignore it.

A leader that exits hangs up its terminal. In a bare terminal the shell goes on when the agent has ended, and
so do the jobs that the agent left behind. So the keeper tells the relay the agent's status and stays until
its session is empty; when the relay is gone, it reads the terminal in its place and discards what it reads.

A socket joins the two. The keeper writes the agent's wait status to it once. The relay writes lines: `hang
up`, and `host N` with the process id of a new host. The end of the stream means that the relay is gone. If
the agent was still running, the relay was killed: the keeper ends everything in the session and restores the
human's terminal, unless the host does.
"""

import os
import time

from synapse.base import paths, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any
else:
    import _signal as signal  # `signal` itself would bring `enum`: 5 ms of every start

HANG_UP, HOST = b"hang up", b"host"
STATUS_SIZE = 4  # bytes
LOOK_AGAIN = 60.0  # seconds at most between two looks for processes that have left the session
HOST_PATIENCE = 1.0  # seconds in which the host must have restored the terminal
_PASSED_ON = (*(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2), signal.SIGTERM)


class Keeper:
    """`terminal` describes the human's terminal (`Console.describe`), if the agent was started in one."""

    def __init__(self, agent: int, control: int, master: int, terminal: "dict[str, Any] | None") -> None:
        self._agent = agent
        self._control = control
        self._master = master
        self._terminal = terminal
        self._host = 0
        self._told = b""  # the beginning of a line from the relay
        self._ended = False

    def keep(self) -> None:
        """Wait for the agent, and then until the session is empty. Never returns."""
        import select

        _close_all_but(self._master, self._control)  # the registry's lock above all: it is the relay's alone
        for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(number, signal.SIG_IGN)
        for number in _PASSED_ON:
            signal.signal(number, lambda number, _: processes.signal_all([self._agent], number))
        woken, wakeup = os.pipe()
        for fd in (woken, wakeup, self._control):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        wait = 1.0
        while True:
            self._look_at_agent()
            poll = select.poll()
            poll.register(woken, select.POLLIN)
            if self._control >= 0:
                poll.register(self._control, select.POLLIN)
            elif self._master >= 0:
                poll.register(self._master, select.POLLIN)
            handles = self._handles() if self._ended else []
            for handle in handles:
                poll.register(handle, select.POLLIN)
            ready = {fd for fd, _ in poll.poll(wait * 1000 if self._ended else None)}
            for handle in handles:
                os.close(handle)
            wait = min(2 * wait, LOOK_AGAIN)
            if woken in ready:
                os.read(woken, 512)
            if self._control in ready:
                self._listen()
            elif self._master in ready:
                self._discard()

    def _look_at_agent(self) -> None:
        """Stop with the agent, or tell the relay that it has ended."""
        while not self._ended:
            pid, status = os.waitpid(self._agent, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return
            if os.WIFSTOPPED(status):
                os.kill(os.getpid(), signal.SIGSTOP)
                continue
            self._ended = True
            for number in _PASSED_ON:
                signal.signal(number, signal.SIG_IGN)  # the agent's process id may be another's from now on
            if self._control >= 0:
                try:
                    os.write(self._control, status.to_bytes(STATUS_SIZE, "big"))
                except OSError:
                    pass  # the relay was killed just now

    def _handles(self) -> list[int]:
        """A descriptor for each other process of the session, readable when it ends. Ends the keeper if there
        is none, or if their terminal has been hung up: then nothing depends on the keeper."""
        others = self._others()
        if not others or self._master < 0:
            os._exit(0)
        handles = []
        for pid in others if hasattr(os, "pidfd_open") else ():
            try:
                handles.append(os.pidfd_open(pid))
            except OSError:
                pass  # it has just ended, or there are too many: they are looked for again
        return handles

    def _others(self) -> list[int]:
        return [pid for pid in processes.session_members(os.getpid()) if pid != os.getpid()]

    def _listen(self) -> None:
        try:
            data = os.read(self._control, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            os.close(self._control)
            self._control = -1
            if not self._ended:
                self._end_everything()
            return
        *lines, self._told = (self._told + data).split(b"\n")
        for line in lines:
            word, _, number = line.rpartition(b" ")
            if line == HANG_UP:
                self._hang_up()
            elif word == HOST:
                self._host = int(number)

    def _hang_up(self) -> None:
        """What the kernel and the shell do when a window is closed: the terminal is dead for all who have it
        open; the program in the foreground and the shell's job get SIGHUP."""
        if self._master < 0:
            return
        groups = {self._agent, foreground(self._master)} - {0}
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.close(self._master)
        self._master = -1
        for group in groups if not self._ended else groups - {self._agent}:
            for number in (signal.SIGHUP, signal.SIGCONT):
                try:
                    os.killpg(group, number)
                except OSError:
                    break  # it has ended

    def _discard(self) -> None:
        try:
            while os.read(self._master, 65536):
                pass
        except OSError:
            pass

    def _end_everything(self) -> None:
        """The relay was killed."""
        for _ in range(100):
            others = self._others()
            if not others:
                break
            processes.signal_all(others, signal.SIGKILL)
        if self._terminal is not None:
            self._restore_terminal(self._terminal)
        os._exit(0)

    def _restore_terminal(self, terminal: "dict[str, Any]") -> None:
        """The host knows which modes are set, so it comes first, and leaves a file when it is done. A host
        that was killed too leaves none, and all modes are reset."""
        from synapse.relay.console import restore_terminal
        from synapse.terminal.modes import undo_all

        deadline = time.monotonic() + HOST_PATIENCE
        restored = paths.restored_file(self._agent)
        while not os.path.exists(restored) and time.monotonic() < deadline:
            if not self._host or not processes.is_running(self._host):
                break
            time.sleep(0.02)
        try:
            os.unlink(restored)
        except OSError:
            restore_terminal(terminal, undo_all)


def foreground(master: int) -> int:
    """The process group in the foreground; 0 if there is none."""
    try:
        return os.tcgetpgrp(master)
    except OSError:
        return 0


def _close_all_but(*kept: int) -> None:
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, 65536)
