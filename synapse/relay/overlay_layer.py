"""What Synapse draws over the human's terminal: showing it, removing it in time, and the keys meant for it.

The host makes a drawing for one position in the agent's output; at any other position it is refused. The
bytes that erase it are kept here and written before the agent's next byte, so at that same position and never
inside an escape sequence. The overlay gets no key before the chord has given it the focus. The chord takes
the focus back, whatever the host is doing.
"""

from __future__ import annotations

from synapse.base import jsontext
from synapse.relay import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.keys.chord import Chord
    from synapse.keys.stream import KeyStream

_BEGIN, _END = b"\x1b[?2026h", b"\x1b[?2026l"


class OverlayLayer:
    """`tell` sends a frame to the host."""

    def __init__(self, chord: tuple[bytes, bytes], tell: Callable[[bytes], None]) -> None:
        self._keys = chord
        self._tell = tell
        self._made: Chord | None = None
        self._watching = False  # there is something that the chord could open
        self._stream: KeyStream | None = None  # the keys since the overlay has the focus
        self._given = bytearray()  # those that the host was given
        self._shown = 0  # the number of the drawing that is on the screen
        self.focused = False
        self.erase = b""  # the bytes that erase it; checked before every output

    def show(self, payload: bytes, written: int, size: tuple[int, int], refusal: str | None) -> bytes:
        """The bytes to write for a drawing of the host. An empty one removes the last, at any position."""
        header, draw, erase = wire.unpack_overlay(payload)
        number = int(header["id"])
        if not draw:
            gone = self.remove()
            return _BEGIN + gone + _END if gone and header["sync"] else gone
        if refusal is None and (header["at"], header["cols"], header["rows"]) != (written, *size):
            refusal = wire.STALE
        self._tell(wire.pack_json(wire.OVERLAID, {"id": number, "outcome": refusal or wire.SHOWN}))
        if refusal is not None:
            return b""
        if not self._shown or header["over"] != self._shown:
            draw = self.remove() + draw
        self._shown, self.erase = number, erase
        return _BEGIN + draw + _END if header["sync"] else draw

    def remove(self) -> bytes:
        erase = self.erase
        self.forget()
        return erase

    def forget(self) -> None:
        """The screen has changed, so that the bytes that would erase the drawing are useless."""
        self._shown, self.erase = 0, b""

    def set_state(self, payload: bytes) -> bytes:
        """Whether the host wants to know of the chord, and whether it still wants the keys. Returns the keys
        that it was given and has not used: they are for the agent."""
        state = jsontext.loads(payload.decode())
        self._watching = bool(state["chord"])
        rest = b""
        if not state["focus"]:
            used = state.get("used")
            if self.focused and used is not None:
                rest = bytes(self._given[used:]) + (self._stream.held if self._stream is not None else b"")
            self._set_focus(False)
        return rest

    def host_gone(self) -> None:
        self._watching = False
        self._set_focus(False)

    def reset(self) -> None:
        self.forget()
        self._made = None
        if self.focused:
            self._toggle_focus()

    @property
    def _chord(self) -> Chord:
        if self._made is None:
            from synapse.keys.chord import Chord

            self._made = Chord(*self._keys)
        return self._made

    def take(self, data: bytes) -> bytes:
        if not self._watching and not self.focused:
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
