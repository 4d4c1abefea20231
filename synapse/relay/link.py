"""The relay's end of the host: start it, feed it, and replace it when it dies, hangs or cannot follow."""

from __future__ import annotations

import _socket
import os
import time
from collections import deque

from synapse.relay import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal

SPOOL_LIMIT = 64 * 1024 * 1024  # a host this far behind will not catch up
RECENT_LIMIT = 128 * 1024  # of output, for a host that comes later
BATCH = 128 * 1024  # bytes that are given to the host without waiting for more
PUSH_AFTER = 0.003  # seconds that anything waits for more
GOODBYE = signal.SIGUSR1  # to a host that has not read that the agent has ended
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
        self._recent: deque[bytes] = deque()
        self._recent_size = 0
        self.written = 0  # bytes of the agent's output, ever
        self._spool = bytearray()  # what the host has not taken
        self._pending: list[bytes] = []  # what it will be given in a moment, in one go
        self._pending_size = 0
        self._unanswered = 0
        self._starts: list[float] = []
        self._unpacker = wire.Unpacker()
        self.socket: _socket.socket | None = None
        self.pid = 0
        self.ready = False

    def start(self) -> None:
        """Start a host; it is given the same listening sockets as the one before."""
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
                # Out of the terminal's reach from the start: its hangup would take the host with it.
                setsid=True,
            )
        finally:
            theirs.close()
            for fd in self._inherited:
                os.set_inheritable(fd, False)
        self._starts.append(time.monotonic())
        self.socket = ours
        self._unpacker = wire.Unpacker()
        self._unanswered = 0
        # The first host is given everything that came before it, a later one the last of the output.
        before = self._spool if self.generation == 1 else wire.pack(wire.OUTPUT, self.recent())
        self._spool = bytearray(wire.pack_json(wire.HELLO, self._hello())) + before

    @property
    def generation(self) -> int:
        return len(self._starts)

    def restart_delay(self) -> float:
        """How long to wait before the next start: nothing at first, longer for one that keeps dying."""
        now = time.monotonic()
        lately = sum(1 for start in self._starts if now - start < 60)
        return 0.0 if lately <= 2 else min(2.0 ** (lately - 3), 30.0)

    def output(self, data: bytes) -> None:
        self.written += len(data)
        self._recent.append(data)
        self._recent_size += len(data)
        while self._recent_size > RECENT_LIMIT and len(self._recent) > 1:
            self._recent_size -= len(self._recent.popleft())
        self._later(wire.pack(wire.OUTPUT, data))

    def key(self, what: int, count: int, empty: bool, draft: str | None) -> None:
        """A human has typed; told together with the echo that follows."""
        self._later(wire.pack_keys(what, count, empty, draft))

    def _later(self, frame: bytes) -> None:
        """The host does not need to wake for every keystroke: it would take the time from its echo."""
        if not self._listens:
            return
        self._pending.append(frame)
        self._pending_size += len(frame)
        if self._pending_size >= BATCH:
            self.push()

    @property
    def _listens(self) -> bool:
        """Whether there is a host, or the first one is still to come."""
        return self.socket is not None or not self._starts

    @property
    def waiting(self) -> bool:
        return bool(self._pending)

    def push(self) -> None:
        """Give the host what has been kept for it."""
        if self._pending:
            frames, self._pending, self._pending_size = b"".join(self._pending), [], 0
            self._send(frames)

    def recent(self) -> bytes:
        """The last of the agent's output."""
        return b"".join(self._recent)

    def send(self, frame: bytes) -> None:
        self.push()
        self._send(frame)

    def _send(self, frame: bytes) -> None:
        if not self._listens:
            return
        if self.socket is not None and not self._spool:
            try:
                frame = frame[self.socket.send(frame) :]
            except BlockingIOError:
                pass
            except OSError:
                return  # its end is closed: the read side reports it
        self._spool += frame

    def flush(self) -> None:
        while self._spool and self.socket is not None:
            try:
                with memoryview(self._spool) as view:
                    sent = self.socket.send(view[: 1 << 20])
            except BlockingIOError:
                return
            except OSError:
                self._spool.clear()
                return
            del self._spool[:sent]

    @property
    def behind(self) -> int:
        return len(self._spool)

    def receive(self) -> list[tuple[int, bytes]] | None:
        """Frames from the host, or None when it is gone."""
        assert self.socket is not None
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            return None
        frames = list(self._unpacker.feed(data))
        self._unanswered = 0
        return frames

    def ping(self) -> bool:
        """Ask for a sign of life; False when the last few brought none."""
        if self.socket is None:
            return True
        if self._unanswered >= PINGS_UNANSWERED:
            return False
        self._unanswered += 1
        self.send(wire.pack(wire.PING))
        return True

    def drop(self, why: str) -> None:
        """Done with this host, dead or not."""
        if self.socket is not None:
            self._log(f"host {self.pid} replaced: {why}")
            self.socket.close()
            self.socket = None
        self._spool = bytearray()
        self._pending, self._pending_size = [], 0
        self.ready = False
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except OSError:
                pass
            self.pid = 0

    def _say_goodbye(self) -> None:
        if self.pid:
            try:
                os.kill(self.pid, GOODBYE)
            except OSError:
                pass

    def close(self, patience: float) -> None:
        """The end. The host writes down what it has by itself; wait for it at most `patience` seconds."""
        self.push()
        if self.socket is not None:
            self.socket.settimeout(0.5)
            try:
                self.socket.sendall(self._spool)
            except OSError:
                self._say_goodbye()  # it will find the end of the stream, and must not take us for killed
            self.socket.close()
            self.socket = None
        deadline = time.monotonic() + patience
        while self.pid and time.monotonic() < deadline:
            done, _ = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.pid = 0
            else:
                time.sleep(0.005)
