"""What Synapse draws over the human's terminal: showing it, removing it in time, and the keys meant for it.

The host makes a drawing for one position in the agent's output; at any other position it is refused. The
bytes that erase it are kept here and written before the agent's next byte, so at that same position and never
inside an escape sequence. While something is drawn, output waits a few milliseconds for the drawing that
follows it, so that the terminal gets erasing, output and drawing in one piece. If the host is late, output
goes on without it, and the next output waits for its drawing again. The overlay gets no key before the chord
has given it the focus. The chord takes the focus back, whatever the host is doing.
"""

from __future__ import annotations

from collections import deque

from synapse.base import jsontext
from synapse.relay import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.keys.stream import KeyStream

WAIT = 0.007  # seconds that output waits for its drawing; 8 ms with the delays of timers and of the terminal
LATE_FOR = 0.25  # seconds: if no drawing has come for so long, output does not wait for one
WAITING_LIMIT = 64 * 1024  # bytes; more than that is a burst, which does not wait
ASIDE_LIMIT = 1024 * 1024  # bytes of output kept while the overlay is on the alternate screen
LONGEST_SEQUENCE = 256  # bytes
_BEGIN, _END = wire.SYNCHRONISED_BEGIN, wire.SYNCHRONISED_END
_ASIDE = b"\x1b[?1049h"


class TimedChord:
    """A chord. `on_keys` is called with its first key if the second does not follow in time."""

    def __init__(
        self,
        keys: tuple[bytes, bytes],
        later: Callable[[float, Callable[[], None]], object],
        on_keys: Callable[[bytes], None],
    ) -> None:
        from synapse.keys.chord import Chord

        self._chord = Chord(*keys)
        self.is_free_of = self._chord.is_free_of
        self._later = later
        self._on_keys = on_keys
        self._reads = 0

    @property
    def rest(self) -> bytes:
        return self._chord.rest

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        self._reads += 1
        fed = self._chord.feed(data)
        if (patience := self._chord.patience) is not None:
            reads = self._reads
            self._later(patience, lambda: self._give_up(reads))
        return fed

    def _give_up(self, reads: int) -> None:
        if reads == self._reads and (held := self._chord.give_up()):
            self._on_keys(held)

    def drop(self) -> None:
        """Forget a first key: nobody is left who has pressed it."""
        self._reads += 1


class OverlayLayer:
    """`tell` sends a frame to the host."""

    def __init__(self, chord: tuple[bytes, bytes], tell: Callable[[bytes], None]) -> None:
        self._keys = chord
        self._tell = tell
        self._made: TimedChord | None = None
        self._watching = False  # there is a host that can show something
        self._stream: KeyStream | None = None  # the keys since the overlay has the focus
        self._given = bytearray()  # those that the host was given
        self._shown = 0  # the number of the drawing that is on the screen
        self._aside = False  # it is on the alternate screen, which the agent does not use
        self._waiting: deque[tuple[float, bytes]] = deque()  # output, and when it came
        self.waiting = 0  # bytes of it
        self._late_since = 0.0  # when output was written without its drawing, if none has come since
        self._is_frame_open = False  # synchronised output is on after what was written
        self.later: Callable[[float, Callable[[], None]], object] = lambda seconds, call: None
        self.on_keys: Callable[[bytes], None] = lambda data: None  # called with keys that waited in vain
        self.focused = False
        self.resumes = 0  # how often the shell had the terminal: drawings from before are refused
        self.erase = b""  # the bytes that erase it; checked before every output

    def terminal_differs(self) -> None:
        """It shows other lines than the host's model: drawings from before are refused."""
        self.resumes += 1
        self._tell(wire.pack_json(wire.RESUMED, self.resumes))

    def show(self, payload: bytes, written: int, size: tuple[int, int], refusal: str | None) -> bytes:
        """The bytes to write for a drawing of the host. An empty one removes the last, at any position.
        `written`: the agent's output with what waits here."""
        header, draw, erase = wire.unpack_overlay(payload)
        number = int(header["id"])
        if not draw:
            gone = self.erase
            rest = self.forget()
            return _BEGIN + gone + _END + rest if gone and header["sync"] else gone + rest
        covered = header["at"] - (written - self.waiting)  # bytes that wait and that it is drawn over
        stays_aside = bool(header.get("aside")) and self._aside
        same = (header["cols"], header["rows"]) == size and header["resumes"] == self.resumes
        if refusal is None and not (same and (stays_aside or 0 <= covered <= self.waiting)):
            refusal = wire.STALE
        self._tell(wire.pack_json(wire.OVERLAID, {"id": number, "outcome": refusal or wire.SHOWN}))
        if refusal is not None:
            return b""
        if stays_aside:
            self._shown = number
            return _BEGIN + draw + _END
        return self._piece(header, draw, erase, covered)

    def _piece(self, header: dict[str, int], draw: bytes, erase: bytes, covered: int) -> bytes:
        """Erasing, the output that was waited for, and the drawing. The agent's own end mark of synchronised
        output comes first or not at all: it would show what is between erasing and drawing."""
        output = self._take(covered)
        ended = output.startswith(_END)
        if ended:
            output = output[len(_END) :]
        begin = _BEGIN if header["sync"] or ended or output else b""
        if output or not self._shown or header["over"] != self._shown or self._aside:
            begin += self.erase
        self._shown, self.erase, self._aside = int(header["id"]), erase, bool(header.get("aside"))
        enter = _ASIDE if self._aside else b""
        if header["sync"] and output.endswith(_END):
            output = output.replace(_END, b"")  # the frames end after the drawing
        self._late_since, self._is_frame_open = 0.0, not header["sync"]
        out = begin + output + enter + draw + (_END if header["sync"] else b"")
        if self._waiting and self._waiting[0][1].startswith(_END) and not self._aside:
            out += self._take(len(_END))  # it changes no cell: what erases the drawing is still right
            self._is_frame_open = False
        return _END + out if ended else out

    @property
    def follows(self) -> bool:
        """Whether output waits for its drawing: something is drawn, or its drawing is late."""
        return bool(self.erase or self._late_since)

    @property
    def is_frame_open(self) -> bool:
        """Whether synchronised output is on after the output that waits: the terminal shows no part of it."""
        for _, data in reversed(self._waiting):
            begin, end = data.rfind(_BEGIN), data.rfind(_END)
            if begin != end:
                return begin > end
        return self._is_frame_open

    def wait(self, data: bytes, now: float) -> bool:
        """Keep output until the drawing over it comes; False if it cannot wait."""
        if self._late_since and now - self._late_since > LATE_FOR:
            return False
        if self.waiting + len(data) > (ASIDE_LIMIT if self._aside else WAITING_LIMIT):
            return False
        self._waiting.append((now, data))
        self.waiting += len(data)
        return True

    @property
    def due(self) -> float | None:
        """When the output that waits must be written."""
        return self._waiting[0][0] + WAIT if self._waiting and not self._aside else None

    def _take(self, count: int) -> bytes:
        """The first bytes of the output that waits."""
        out = []
        self.waiting -= count
        while count:
            came, data = self._waiting.popleft()
            if len(data) > count:
                self._waiting.appendleft((came, data[count:]))
            out.append(data[:count])
            count -= len(out[-1])
        return b"".join(out)

    def release(self, now: float) -> bytes:
        """The output that has waited in vain, and before it the bytes that erase what is drawn. Of a frame
        whose end has not come the terminal shows nothing yet, and the drawing may still come before it."""
        since, is_open, begin = self._late_since or now, self.is_frame_open, _BEGIN if self.erase else b""
        out = begin + self.remove()
        self._late_since, self._is_frame_open = since, is_open
        return out + _END if begin and not is_open and not out.endswith(_END) else out

    def remove(self) -> bytes:
        """The bytes that erase it, and the output that waited."""
        return self.erase + self.forget()

    def forget(self) -> bytes:
        """The screen has changed, so that the bytes that would erase the drawing are useless. Returns the
        output that waited."""
        self._shown, self.erase, self._aside, self._late_since = 0, b"", False, 0.0
        return self._take(self.waiting)

    def resized(self) -> bytes:
        """The terminal has reflowed what was drawn, except on the alternate screen: that stays until the next
        drawing."""
        return b"" if self._aside else self.forget()

    def set_state(self, payload: bytes) -> bytes:
        """Whether the host still wants the keys. Returns those that it was given and has not used: they are
        for the agent."""
        state = jsontext.loads(payload.decode())
        rest = b""
        if not state["focus"]:
            used = state.get("used")
            if self.focused and used is not None:
                rest = bytes(self._given[used:]) + (self._stream.held if self._stream is not None else b"")
            self._set_focus(False)
        return rest

    def host_came(self) -> None:
        self._watching = True

    def host_gone(self) -> None:
        self._watching = False
        self._set_focus(False)

    def reset(self) -> None:
        self.forget()
        if self._made is not None:
            self._made.drop()
        self._made = None
        if self.focused:
            self._toggle_focus()

    @property
    def _chord(self) -> TimedChord:
        if self._made is None:
            self._made = TimedChord(self._keys, self.later, self.pass_by)
        return self._made

    def take(self, data: bytes) -> bytes:
        if not self.focused and (not self._watching or self._chord.is_free_of(data)):
            return data
        out = b""
        while data:
            data, complete = self._chord.feed(data)
            out += self._pass_on(data)
            if not complete:
                break
            self._toggle_focus()
            data = self._chord.rest
        return out

    def pass_by(self, data: bytes) -> None:
        """Keys that waited for the rest of a chord in vain."""
        self.on_keys(self._pass_on(data))

    def _pass_on(self, data: bytes) -> bytes:
        """With the focus, the overlay gets the keys. What the terminal sends by itself is for the agent."""
        if not self.focused or not data:
            return data
        from synapse.keys.stream import SEQUENCE, KeyStream

        if self._stream is None:
            self._stream = KeyStream(SEQUENCE)
        pieces = [(kind == "report", raw) for kind, _, raw in self._stream.feed(data)]
        keys = b"".join(raw for is_report, raw in pieces if not is_report)
        if keys:
            self._given += keys
            self._tell(wire.pack(wire.OVERLAY_KEYS, keys))
        return b"".join(raw for is_report, raw in pieces if is_report)

    def _toggle_focus(self) -> None:
        self._set_focus(not self.focused)
        self._tell(wire.pack_json(wire.OVERLAY_FOCUS, self.focused))

    def _set_focus(self, focused: bool) -> None:
        self.focused = focused
        self._stream = None
        self._given.clear()


def parts(data: bytes) -> list[bytes]:
    """Output as the host gets it while something is drawn: cut before each end of synchronised output after
    which more comes. The host draws before that mark, which would show the screen without the drawing."""
    first, *rest = data.split(_END)
    cut = [first, *(_END + part for part in rest)]
    if len(cut) > 1 and cut[-1] == _END:
        cut[-2:] = [cut[-2] + _END]
    return [part for part in cut if part]


def unfinished(data: bytes) -> int:
    """How many bytes at the end of `data` begin an escape sequence or a character."""
    start = data.rfind(b"\x1b", max(len(data) - LONGEST_SEQUENCE, 0))
    if start >= 0 and _is_open(data[start + 1 :]):
        return len(data) - start
    for count, byte in enumerate(data[: -len(data[:3]) - 1 : -1], 1):
        if byte < 0x80:
            break
        if byte >= 0xC0:
            return count if count < 2 + (byte >= 0xE0) + (byte >= 0xF0) else 0
    return 0


def _is_open(rest: bytes) -> bool:
    """Whether this, after ESC, does not end a sequence."""
    if rest[:1] == b"[":
        return not any(0x40 <= byte <= 0x7E for byte in rest[1:])
    if rest[:1] == b"]":
        return b"\x07" not in rest
    return not rest or (len(rest) == 1 and rest in b"()*+#% ")
