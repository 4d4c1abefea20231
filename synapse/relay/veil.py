"""What Synapse has drawn over the human's terminal: shown, taken away in time, and the keys it is given.

A drawing is made by the host for one place in the agent's output and refused at any other. What takes it away
is kept here and written before the next byte of the agent, so at that same place: never inside a sequence.
No key is the overlay's until the chord has given it the focus; the chord again takes it back, whatever the
host is doing.
"""

from __future__ import annotations

from synapse.base import jsontext
from synapse.relay import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.keys.chord import Chord

_BEGIN, _END = b"\x1b[?2026h", b"\x1b[?2026l"


class Veil:
    """`tell` sends a frame to the host."""

    def __init__(self, chord: tuple[bytes, bytes], tell: Callable[[bytes], None]) -> None:
        self._keys = chord
        self._tell = tell
        self._made: Chord | None = None
        self._watching = False  # there is something that the chord could open
        self._carry = b""
        self._given = bytearray()  # the keys since the overlay has the focus
        self._shown = 0  # the number of the drawing that is on the screen
        self.focused = False
        self.erase = b""  # what takes it away; looked at before every output

    # --- the drawing --------------------------------------------------------------------------------------

    def show(self, payload: bytes, written: int, size: tuple[int, int], refusal: str | None) -> bytes:
        """The host's drawing, as bytes to write now. An empty one takes away the last, wherever we are."""
        header, draw, erase = wire.unpack_overlay(payload)
        number = int(header["id"])
        if not draw:
            gone = self.lift()
            return _BEGIN + gone + _END if gone and header["sync"] else gone
        if refusal is None and (header["at"], header["cols"], header["rows"]) != (written, *size):
            refusal = wire.STALE
        self._tell(wire.pack_json(wire.OVERLAID, {"id": number, "outcome": refusal or wire.SHOWN}))
        if refusal is not None:
            return b""
        if not self._shown or header["over"] != self._shown:
            draw = self.lift() + draw
        self._shown, self.erase = number, erase
        return _BEGIN + draw + _END if header["sync"] else draw

    def lift(self) -> bytes:
        """The bytes that take the drawing away; it is forgotten."""
        erase = self.erase
        self.forget()
        return erase

    def forget(self) -> None:
        """The screen is not what it was: what would take the drawing away is worthless."""
        self._shown, self.erase = 0, b""

    # --- keys ---------------------------------------------------------------------------------------------

    def set_state(self, payload: bytes) -> bytes:
        """What the host wants: to be told of the chord, to be given the keys no longer. Returned are those
        that it was given and has not used: they are the agent's."""
        state = jsontext.loads(payload.decode())
        self._watching = bool(state["chord"])
        rest = b""
        if not state["focus"]:
            used = state.get("used")
            if self.focused and used is not None:
                rest = bytes(self._given[used:]) + self._carry
            self._release()
        return rest

    def host_gone(self) -> None:
        self._watching = False
        self._release()

    def start_anew(self) -> None:
        """Another terminal, or none."""
        self.forget()
        self._made = None
        if self.focused:
            self._focus(False)

    @property
    def _chord(self) -> Chord:
        if self._made is None:
            from synapse.keys.chord import Chord

            self._made = Chord(*self._keys)
        return self._made

    def take(self, data: bytes) -> bytes:
        """A human's keys; returned are those that are meant for the agent."""
        if not self._watching and not self.focused:
            return data
        out = b""
        while data:
            data, chord = self._chord.feed(data)
            out += self._pass_on(data)
            if not chord:
                break
            self._focus(not self.focused)
            data = self._chord.rest
        return out

    def _pass_on(self, data: bytes) -> bytes:
        if not self.focused or not data:
            return data
        from synapse.keys import reports

        keys, told, self._carry = reports.split(self._carry + data)
        if keys:
            self._given += keys
            self._tell(wire.pack(wire.OVERLAY_KEYS, keys))
        return told

    def _focus(self, on: bool) -> None:
        self.focused = on
        self._carry = b""
        self._given.clear()
        self._tell(wire.pack_json(wire.OVERLAY_FOCUS, on))

    def _release(self) -> None:
        self.focused = False
        self._carry = b""
        self._given.clear()
