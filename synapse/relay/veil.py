"""What Synapse has drawn over the human's terminal: shown, taken away in time, and the keys it is given.

A drawing is made by the host for one place in the agent's output and refused at any other. What takes it away
is kept here and written before the next byte of the agent, so at that same place: never inside a sequence.
No key is the overlay's until the chord has given it the focus; the chord again takes it back, whatever the
host is doing.
"""

import json
import re
from collections.abc import Callable

from synapse.relay import wire
from synapse.relay.chord import Chord

SHOWN, STALE, BUSY, NOBODY = "shown", "stale", "busy", "nobody"
_BEGIN, _END = b"\x1b[?2026h", b"\x1b[?2026l"

# What a terminal says to the agent by itself, even while a human types elsewhere: focus, answers to queries.
_ANSWERS = re.compile(
    rb"\x1b\[[IO]|\x1b\[[?>=][\d;]*[cRnu]|\x1b\[[\d;]*c|\x1b\[\d+;\d+R|\x1b\[\?[\d;]*\$y|\x1b\[\d+(?:;\d+)*t"
    rb"|\x1b\[0n|\x1b[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O|[\]P_^][^\x07\x1b]*\x1b?)\Z")
_LONGEST = 4096  # of an answer that is waited for


class Veil:
    """`tell` sends a frame to the host."""

    def __init__(self, chord: tuple[bytes, bytes], tell: Callable[[bytes], None]) -> None:
        self._keys = chord
        self._tell = tell
        self._chord = Chord(*chord)
        self._watching = False  # there is something that the chord could open
        self._carry = b""
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
            refusal = STALE
        self._tell(wire.pack_json(wire.OVERLAID, {"id": number, "outcome": refusal or SHOWN}))
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

    def set_state(self, payload: bytes) -> None:
        """What the host wants: to be told of the chord, to be given the keys no longer."""
        state = json.loads(payload)
        self._watching = bool(state["chord"])
        if not state["focus"]:
            self._release()

    def host_gone(self) -> None:
        self._watching = False
        self._release()

    def start_anew(self) -> None:
        """Another terminal, or none."""
        self.forget()
        self._chord = Chord(*self._keys)
        if self.focused:
            self._focus(False)

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
        data = self._carry + data
        unfinished = _UNFINISHED.search(data, max(len(data) - _LONGEST, 0))
        self._carry = unfinished.group() if unfinished else b""
        data = data[: len(data) - len(self._carry)]
        keys = _ANSWERS.sub(b"", data)
        if keys:
            self._tell(wire.pack(wire.OVERLAY_KEYS, keys))
        return b"".join(_ANSWERS.findall(data))

    def _focus(self, on: bool) -> None:
        self.focused = on
        self._carry = b""
        self._tell(wire.pack_json(wire.OVERLAY_FOCUS, on))

    def _release(self) -> None:
        self.focused = False
        self._carry = b""
