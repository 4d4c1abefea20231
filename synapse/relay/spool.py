"""The frames that the host has not taken yet. It gets them at once, but a burst of output only in portions.

A burst costs the host as much time as the relay, and on a machine with few processors the human's terminal
would wait for both. So the terminal goes first. The host catches up afterwards, in about 15 ms per MB.
"""

from __future__ import annotations

import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Iterator

PORTION = 128 * 1024  # bytes of one send
BURST_SPAN = 0.02  # seconds over which output is counted
BURST_SIZE = 48 * 1024  # bytes in that time are a burst; less than that fits in the portions anyway
HOLD = 64 * 1024 * 1024  # bytes; the host gets what exceeds this as it comes
HOLD_FOR = 2.0  # seconds; the host gets the rest of a longer burst as it comes
PORTION_EVERY = 0.05  # seconds between two portions of a burst: the host must know that there is output
TRIM_ABOVE = 8 * 1024 * 1024  # bytes; above this, freed memory is given back to the system
RECENT_LIMIT = 128 * 1024  # bytes of output kept for a host that starts later
LONGEST_REPORT = 1024  # bytes of a title or a state sequence that is kept
REPORTS = 32  # different sequences of that kind


class Spool:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._frames: deque[bytes] = deque()
        self._added = 0  # bytes in this span
        self._span_began = self._portion_at = -1e9
        self._burst_since: float | None = None
        self._most = 0  # bytes held at most since it was last empty
        self.size = 0
        self.stuck = False  # the host takes no more now
        self.held_back = False

    def add(self, *parts: bytes) -> None:
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
        return bool(self._frames) and not self.stuck

    def look(self, host: _socket.socket) -> bool:
        """Send the host what has come; during a burst only one portion every 50 ms. Called every few
        milliseconds. Returns whether the host got all of it. OSError when its end is closed."""
        now = self._clock()
        self._most = max(self._most, self.size)
        self._notice_burst(now)
        since = self._burst_since
        self.held_back = since is not None and now - since < HOLD_FOR and self.size < HOLD
        if not self.held_back:
            self.give(host)
        elif now - self._portion_at >= PORTION_EVERY:
            self._portion_at = now
            self.give(host, 1)
        return not self.held_back

    def _notice_burst(self, now: float) -> None:
        """A burst begins at once, and ends with a span in which little was added."""
        if self._added >= BURST_SIZE and self._burst_since is None:
            self._burst_since = now
        if now - self._span_began >= BURST_SPAN:
            if self._added < BURST_SIZE:
                self._burst_since = None
            self._added, self._span_began = 0, now

    def give(self, host: _socket.socket, portions: int = -1) -> None:
        """Send as much as the host takes now. OSError when its end is closed."""
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
        if not self._frames and self._most > TRIM_ABOVE:
            _give_memory_back()
            self._most = 0

    def portions(self) -> Iterator[bytes]:
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
    """The C library would keep it, because memory still in use lies above it."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError):
        pass  # no glibc


class Recent:
    """The last output of the agent, and the last title and state sequences that came before it."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._reports: dict[bytes, bytes] = {}  # by the number of the OSC sequence

    def add(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        while self._size > RECENT_LIMIT and len(self._pieces) > 1:
            piece = self._pieces.popleft()
            self._size -= len(piece)
            if b"\x1b]" in piece:
                self._keep_reports(piece)

    def output(self) -> bytes:
        return b"".join(self._pieces)

    def reports(self) -> bytes:
        return b"".join(self._reports.values())

    def _keep_reports(self, piece: bytes) -> None:
        """Keep each `ESC ] number ; text`. Numbers of two digits and hyperlinks change what is drawn."""
        for part in piece.split(b"\x1b]")[1:]:
            text = part.partition(b"\x07")[0].partition(b"\x1b")[0]
            number, separator, _ = text.partition(b";")
            is_report = number in (b"0", b"2") or (number.isdigit() and len(number) > 2)
            ended = part[len(text) :].startswith((b"\x07", b"\x1b\\"))
            if not is_report or not separator or not ended or len(text) > LONGEST_REPORT:
                continue
            if number in self._reports or len(self._reports) < REPORTS:
                self._reports[number] = b"\x1b]" + text + b"\x07"
