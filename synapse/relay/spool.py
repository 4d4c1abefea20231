"""What the host has not taken yet, and when it is given that: at once, but a burst of output in its pauses.

A burst costs the host as much as it costs the relay, and where processors are few the human's terminal would
wait for both. So the terminal goes first, and the host catches up afterwards: some 15 ms for each MB.
"""

from __future__ import annotations

import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Iterator

PORTION = 128 * 1024  # bytes that the host is given in one go
SPAN = 0.02  # seconds
POURS = 48 * 1024  # bytes in that time make a burst; of less, the sips are all there is
HOLD = 64 * 1024 * 1024  # of a longer one, the host is given the rest as it comes
HOLD_FOR = 2.0  # seconds; the same
SIP_EVERY = 0.05  # seconds between two portions of a burst: it shall know that there is output
MUCH = 8 * 1024 * 1024  # whose memory is worth giving back


class Spool:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._frames: deque[bytes] = deque()
        self._added = 0  # bytes in this span
        self._span_began = self._sipped_at = -1e9
        self._pours_since: float | None = None
        self._most = 0  # that it has held since it was last empty
        self.size = 0
        self.stuck = False  # the host takes no more now
        self.held_back = False

    def add(self, *parts: bytes) -> None:
        """A frame, in one piece or more."""
        for part in parts:
            self._frames.append(part)
            self._added += len(part)
            self.size += len(part)

    def begin_with(self, frame: bytes) -> None:
        self._frames.appendleft(frame)
        self.size += len(frame)
        self.stuck = False

    def clear(self) -> None:
        self._frames.clear()
        self.size, self.stuck, self.held_back = 0, False, False

    @property
    def waiting(self) -> bool:
        """Whether there is something to offer to the host."""
        return bool(self._frames) and not self.stuck

    def look(self, host: _socket.socket) -> bool:
        """Every few milliseconds: give the host what has come, or, while it pours, only a sip. Whether it was
        given all. OSError when its end is closed."""
        now = self._clock()
        self._most = max(self._most, self.size)
        self._notice_burst(now)
        since = self._pours_since
        self.held_back = since is not None and now - since < HOLD_FOR and self.size < HOLD
        if not self.held_back:
            self.give(host)
        elif now - self._sipped_at >= SIP_EVERY:
            self._sipped_at = now
            self.give(host, 1)
        return not self.held_back

    def _notice_burst(self, now: float) -> None:
        """It begins at once, and ends with a span in which there was little."""
        if self._added >= POURS and self._pours_since is None:
            self._pours_since = now
        if now - self._span_began >= SPAN:
            if self._added < POURS:
                self._pours_since = None
            self._added, self._span_began = 0, now

    def give(self, host: _socket.socket, portions: int = -1) -> None:
        """As much as the host takes now. OSError when its end is closed."""
        self.stuck = False
        while self._frames and portions:
            portions -= 1
            portion = self._portion()
            try:
                sent = host.send(portion)
            except BlockingIOError:
                sent = 0
            self.size -= sent
            if sent < len(portion):
                self._frames.appendleft(portion[sent:])
                self.stuck = True
                return
        if not self._frames and self._most > MUCH:
            _give_memory_back()
            self._most = 0

    def portions(self) -> Iterator[bytes]:
        """All of it, for the last time."""
        while self._frames:
            yield self._portion()

    def _portion(self) -> bytes:
        parts = [self._frames.popleft()]
        size = len(parts[0])
        while self._frames and size < PORTION:
            parts.append(self._frames.popleft())
            size += len(parts[-1])
        return b"".join(parts) if len(parts) > 1 else parts[0]


def _give_memory_back() -> None:
    """The C library would keep it: what is still in use lies at the far end."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError):
        pass  # no glibc
