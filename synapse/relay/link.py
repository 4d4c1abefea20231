"""The relay's connection to the host: starts it, sends it frames, replaces it when it dies, hangs or lags."""

from __future__ import annotations

import _socket
import os
import time

from synapse.base import checkpoints, processes
from synapse.relay import wire
from synapse.relay.spool import Recent, Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal

SPOOL_LIMIT = 128 * 1024 * 1024  # bytes; a host this far behind will not catch up
LOOK_AFTER = 0.003  # seconds that a frame waits for others to go with it
PORTION_TIMEOUT = 0.5  # seconds for one portion of what is left at the end
CLOSE_TIMEOUT = 3.0  # for all of it
DRAIN_TIMEOUT = 5.0  # seconds for a host that served, until it has sent what it owes
START_TIMEOUT = 20.0  # for one that was still starting: it writes the log of the output
PING_EVERY = 5.0
PINGS_UNANSWERED = 4


class HostLink:
    def __init__(
        self,
        command: list[str],
        inherited: list[int],
        hello: Callable[[], dict[str, object]],
        log: Callable[[str], None],
        log_path: str,
    ) -> None:
        self._command = command
        self._inherited = inherited
        self._hello = hello
        self._log = log
        self._log_path = log_path
        self.recent = Recent()
        self.written = 0  # bytes of the agent's output, ever
        self.spool = Spool()
        self._key: tuple[int, int, bool, str | None, str | None] | None = None  # it comes after the spool
        self._unanswered = 0
        self._starts: list[float] = []
        self._unpacker = wire.Unpacker()
        self.socket: _socket.socket | None = None
        self.pid = 0
        self.ready = False

    def start(self) -> None:
        """Start a host. It inherits the same listening sockets as the one before."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        ours.setblocking(False)
        for fd in (theirs.fileno(), *self._inherited):
            os.set_inheritable(fd, True)
        argv = [*self._command, str(theirs.fileno()), *map(str, self._inherited)]
        log_flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        try:
            self.pid = os.posix_spawn(
                argv[0],
                argv,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, self._log_path, log_flags, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,  # otherwise a hangup of the terminal would end the host too
            )
        finally:
            theirs.close()
            for fd in self._inherited:
                os.set_inheritable(fd, False)
        self._starts.append(time.monotonic())
        self.socket = ours
        self._unpacker = wire.Unpacker()
        self._unanswered = 0
        # The first host gets all earlier output, a later one only the last of it.
        if self.generation > 1:
            self._key = None
            self.spool.clear()
            self.spool.add(wire.pack(wire.OUTPUT, self.recent.output()))
        self.spool.begin_with(wire.pack_json(wire.HELLO, self._hello()))

    @property
    def generation(self) -> int:
        return len(self._starts)

    def restart_delay(self) -> float:
        """Seconds before the next start: none at first, more for a host that keeps dying."""
        now = time.monotonic()
        lately = sum(1 for start in self._starts if now - start < 60)
        return 0.0 if lately <= 2 else min(2.0 ** (lately - 3), 30.0)

    def output(self, data: bytes) -> None:
        self.written += len(data)
        self.recent.add(data)
        self._later(wire.header(wire.OUTPUT, len(data)), data)

    def key(self, what: int, count: int, empty: bool, draft: str | None, line: str | None) -> None:
        """A human has typed. Sent together with the echo that follows, and made into a frame then: the
        program may need this processor for the echo."""
        self._add_key()
        self._key = (what, count, empty, draft, line)

    def _add_key(self) -> None:
        key, self._key = self._key, None
        if key is not None:
            self._later(wire.pack_keys(*key))

    def _later(self, *parts: bytes) -> None:
        """Do not wake the host for every keystroke: that would delay the echo."""
        self._add_key()
        if self.socket is not None or not self._starts:  # there is a host, or the first has not started yet
            self.spool.add(*parts)

    @property
    def waiting(self) -> bool:
        """Whether there is something to send that the host can take."""
        return self.spool.waiting or (self._key is not None and not self.spool.stuck)

    @property
    def is_prompt(self) -> bool:
        """Whether the host gets output at once, and not only portions of a burst."""
        return self.socket is not None and not self.spool.held_back and not self.spool.stuck

    def look(self) -> bool:
        """Send the host the waiting frames, except in a burst; whether all were sent."""
        self._add_key()
        if self.socket is None:
            self.spool.stuck = True
            return True
        try:
            return self.spool.look(self.socket)
        except OSError:
            self.spool.clear()  # its end is closed: the read side reports it
            return True

    def flush(self) -> None:
        if self.spool.held_back:
            self.spool.stuck = False
        else:
            self._push()

    def send(self, frame: bytes) -> None:
        self._later(frame)
        self._push()

    def _push(self) -> None:
        if self.socket is not None:
            try:
                self.spool.give(self.socket)
            except OSError:
                self.spool.clear()

    def receive(self) -> list[tuple[int, bytes]] | None:
        assert self.socket is not None
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            return None
        self._unanswered = 0
        return self._unpacker.feed(data)

    def ping(self) -> bool:
        """Ask for a PONG. False when the last few pings were not answered."""
        if self.socket is None:
            return True
        if self._unanswered >= PINGS_UNANSWERED:
            return False
        self._unanswered += 1
        self.send(wire.pack(wire.PING))
        return True

    def drop(self, why: str) -> None:
        if self.socket is not None:
            self._log(f"host {self.pid} replaced: {why}")
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)  # first: a closed socket would look like a killed relay
                os.waitpid(self.pid, 0)
            except OSError:
                pass
            self.pid = 0
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        self._key = None
        self.spool.clear()
        self.ready = False

    def say_goodbye(self) -> None:
        """Send what is left, the EXIT frame last."""
        if self.socket is None:
            return
        until = time.monotonic() + CLOSE_TIMEOUT
        try:
            for portion in self.spool.portions():
                if time.monotonic() > until:
                    raise TimeoutError
                self.socket.settimeout(PORTION_TIMEOUT)
                self.socket.sendall(portion)
        except OSError:
            # Without the signal, the host would take the end of the stream for a killed relay.
            processes.signal_all([self.pid] if self.pid else [], wire.GOODBYE)
            try:
                self.socket.shutdown(_socket.SHUT_WR)
            except OSError:
                pass  # it is gone

    def wait_drained(self, patience: float) -> bool:
        """Whether the host has sent what it owes, or is gone, within `patience` seconds."""
        deadline = time.monotonic() + patience
        while self.socket is not None and (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 18)
            except TimeoutError:
                break
            except OSError:
                data = b""
            if not data or any(kind == wire.DRAINED for kind, _ in self._unpacker.feed(data)):
                checkpoints.reached("host drained")
                self.socket.close()
                self.socket = None
        return self.socket is None

    def end_host(self) -> None:
        """Kill a host that is stuck. Its end of the socket is open, so the process is still the same one."""
        if self.socket is None:
            return
        patience = 0.0 if self.ready else START_TIMEOUT - DRAIN_TIMEOUT
        if not self.wait_drained(patience) and self.socket is not None:
            self._log(f"host {self.pid} killed: it did not end")
            processes.signal_all([self.pid], signal.SIGKILL)
            self.socket.close()
            self.socket = None
