"""The inbox on the human's terminal: drawn when the agent's output pauses, and again after every output."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from synapse.messages.draw_timer import DRAW_INTERVAL, DrawTimer, Later, Timer
from synapse.messages.inbox import Action, Close, Copy, Inbox
from synapse.messages.placement import ASK_AGAIN, NEVER, Placement
from synapse.relay import wire
from synapse.terminal.overlay import Box, drawable_area, paint, repaint
from synapse.terminal.screen import Screen

OUTPUT_PAUSE = 0.006  # seconds without output before anything is drawn
TRY_AGAIN = 0.1  # seconds until a drawing that was refused is tried again
RESIZE_PAUSE = 0.4  # seconds after a resize before anything is drawn: not while a window is dragged
DRAWN_LATELY = 1.0  # seconds that a drawing may have been gone when the terminal was resized under it
VISIBLE_WITHIN = 1.0  # seconds in which the panel must be seen, or the keys go back to the agent


class State(Enum):
    """The human's terminal, as far as our drawings are concerned."""

    ABSENT = "there is none"
    CLEAN = "nothing of ours is on it but what the relay can erase"
    STAINED = "a resize has spread a drawing over it: the whole screen is to be repainted"
    SPILT = "stained, and the scrollback may hold some of the drawing too"
    REPAINTED = "repainted, but another resize may bring back what the scrollback holds"


_IS_STAINED = (State.STAINED, State.SPILT)
_AFTER_REPAINT = {State.STAINED: State.CLEAN, State.SPILT: State.REPAINTED}


class _Drawing(NamedTuple):
    number: int
    boxes: list[Box]
    once: bytes
    erase: bytes


@dataclass
class _Drawings:
    """What the relay was given to draw."""

    count: int = 0
    asked: _Drawing | None = None  # what the relay has not answered yet
    shown: _Drawing | None = None
    left_at: float = NEVER  # when a drawing was last taken away
    missed: bool = False  # something has changed since it was asked
    once: bytes = b""  # goes out with the next drawing, such as a copy to the clipboard

    def leave(self, now: float) -> None:
        """Nothing of ours is on the screen any more."""
        if self.shown is not None:
            self.shown, self.left_at = None, now


@dataclass
class _Opened:
    """The panel since it was opened or closed."""

    seen: bool = False  # something was drawn
    keys: int = 0  # bytes
    giving_up: Timer | None = None


class Display:
    """`send` takes a frame for the relay, `act` what the human wants done; `later` is the loop's call_later,
    `written` how many bytes the agent has written. See Placement for `young` and `placed`: the terminal is
    asked where the rows are when there is something to draw."""

    def __init__(
        self,
        inbox: Inbox,
        screen: Screen,
        written: Callable[[], int],
        send: Callable[[bytes], None],
        later: Later,
        act: Callable[[Action], None],
        clock: Callable[[], float] = time.monotonic,
        young: bool = False,
        placed: bool = True,
    ) -> None:
        self._inbox = inbox
        self._screen = screen
        self._written = written
        self._send = send
        self._later = later
        self._act = act
        self._clock = clock
        self._placement = Placement(screen, young, placed)
        self._timer = DrawTimer(self._draw, later, clock)
        self._state = State.CLEAN
        self._drawings = _Drawings()
        self._opened = _Opened()
        self._chord = False  # the relay looks for the chord that opens the panel
        self._calm_at = NEVER  # nothing is drawn before

    # --- told by the relay and the host -------------------------------------------------------------------

    def frame(self, kind: int, payload: bytes) -> None:
        """One of the relay's frames about the overlay."""
        if kind == wire.OVERLAID:
            told = json.loads(payload)
            self._overlaid(told["id"], told["outcome"])
        elif kind == wire.PLACE:
            self._place(*json.loads(payload))
        elif kind == wire.OVERLAY_FOCUS:
            self._focus(json.loads(payload))
        elif kind == wire.OVERLAY_KEYS:
            self._keys(payload)

    def changed(self) -> None:
        """Something in the inbox has."""
        if self._chord == self._inbox.is_empty:
            self._chord = not self._inbox.is_empty
            self._tell_state()
        self._timer.after(0.0)

    def output(self, data: bytes) -> None:
        """The agent has written; the relay has taken away what was drawn."""
        self._drawings.leave(self._clock())
        self._placement.learn(data)
        if self._chord or self._state in _IS_STAINED:
            self._timer.after(OUTPUT_PAUSE)

    def resized(self) -> None:
        now = self._clock()
        self._drawings.leave(now)
        self._placement.resized()
        self._calm_at = now + RESIZE_PAUSE
        if self._state is not State.ABSENT:
            self._stain(now)
        if self._chord or self._state in _IS_STAINED:
            self._timer.after(DRAW_INTERVAL)

    def console_changed(self, present: bool) -> None:
        """Another terminal, as the agent left it, or none."""
        self._state = State.CLEAN if present else State.ABSENT
        self._drawings.shown, self._drawings.left_at = None, NEVER
        self._placement.console_changed()
        self._inbox.focus(False)
        self._tell_state()
        self.changed()

    @property
    def left_behind(self) -> bytes:
        """What takes away a drawing whose relay was killed."""
        shown = self._drawings.shown
        return shown.erase if shown is not None else b""

    # --- the relay's frames -------------------------------------------------------------------------------

    def _overlaid(self, number: int, outcome: str) -> None:
        drawings = self._drawings
        asked = drawings.asked
        if asked is None or asked.number != number:
            return
        drawings.asked = None
        if outcome == wire.SHOWN:
            drawings.shown = asked
            self._opened.seen = self._opened.seen or bool(asked.boxes)
            if not asked.boxes:
                self._state = _AFTER_REPAINT.get(self._state, self._state)
            if asked.once == drawings.once:
                drawings.once = b""
        if outcome in (wire.STALE, wire.BUSY):
            self._timer.after(OUTPUT_PAUSE if outcome == wire.STALE else TRY_AGAIN)
        elif drawings.missed:
            self._timer.after(0.0)
        drawings.missed = False

    def _place(self, row: int, column: int, at: int) -> None:
        """Where the cursor is in the terminal, which has had `at` bytes of the agent's output."""
        if self._screen.alternate_screen or at != self._written():
            self._placement.questions_left = max(self._placement.questions_left, 1)  # more has come since
            self._timer.after(TRY_AGAIN)
        elif self._placement.place(row, column):
            self.changed()

    def _focus(self, on: bool) -> None:
        self._inbox.focus(on)
        if self._opened.giving_up is not None:
            self._opened.giving_up.cancel()
        self._opened = _Opened()
        if on:
            patience = VISIBLE_WITHIN if self._can_draw() else 0.0
            self._opened.giving_up = self._later(patience, self._give_up)
        self.changed()

    def _can_draw(self) -> bool:
        known = self._placement.is_known or self._placement.questions_left
        return bool(known) and drawable_area(self._placement.free()[0]) is not None

    def _give_up(self) -> None:
        """Nobody types into a panel that cannot be seen."""
        if self._inbox.focused and not self._opened.seen:
            self._inbox.focus(False)
            self._tell_state()
            self.changed()

    def _keys(self, data: bytes) -> None:
        self._opened.keys += len(data)
        for action in self._inbox.keys(data):
            if isinstance(action, Copy):
                self._drawings.once = b"\x1b]52;c;" + base64.b64encode(action.text.encode()) + b"\x07"
            elif isinstance(action, Close):
                self._tell_state(used=self._opened.keys - self._inbox.unread)
            else:
                self._act(action)
        self.changed()

    def _tell_state(self, used: int | None = None) -> None:
        """`used`: how many bytes of keys were the panel's; what came after them is the agent's."""
        state = {"chord": self._chord, "focus": self._inbox.focused, "used": used}
        self._send(wire.pack_json(wire.OVERLAY_STATE, state))

    # --- drawing ------------------------------------------------------------------------------------------

    def _stain(self, now: float) -> None:
        """The terminal was resized, perhaps while a drawing was on it."""
        # What took it away may have come to a terminal that had another size already.
        shown = now - self._drawings.left_at < DRAWN_LATELY
        spilt = self._state in (State.SPILT, State.REPAINTED)
        if spilt or (shown and not self._screen.alternate_screen):
            self._state = State.SPILT
        elif shown:
            self._state = State.STAINED

    def _draw(self) -> None:
        drawings = self._drawings
        if self._state is State.ABSENT:
            return
        if drawings.asked is not None:
            drawings.missed = True
            return
        self._timer.last = now = self._clock()
        if self._state in _IS_STAINED:
            self._repaint()
            return
        if now < self._calm_at:
            self._timer.at(self._calm_at)
            return
        size, above = self._placement.free()
        boxes = self._inbox.picture(size, self._screen.cursor[1] - above)
        boxes = [box._replace(y=box.y + above) for box in boxes]
        wait = self._inbox.next_change()
        if wait is not None:
            self._timer.at(now + wait)
        if drawings.shown is not None and drawings.shown.boxes == boxes and not drawings.once:
            return
        if boxes or drawings.once:
            self._paint(boxes)
        elif drawings.shown is not None:
            drawings.leave(now)
            self._send(wire.pack_overlay({"id": 0, "sync": not self._screen.mode(2026)}))

    def _paint(self, boxes: list[Box]) -> None:
        if not self._placement.is_known:
            self._ask_place()
            return
        painting = paint(self._screen, boxes)
        if painting is None:
            self._timer.after(TRY_AGAIN)
            return
        shown, once = self._drawings.shown, self._drawings.once
        over = shown.number if shown is not None and _shape(shown.boxes) == _shape(boxes) else 0
        self._put(boxes, once + painting.draw, painting.erase, painting.synchronise, over)

    def _repaint(self) -> None:
        """The whole screen anew, then what is to be over it."""
        if not self._placement.is_known and self._placement.questions_left:
            self._ask_place()
            return
        if not self._placement.is_known or self._placement.free()[1]:  # what is above is not known
            self._state = State.CLEAN
            self._timer.after(0.0)
            return
        data = repaint(self._screen)
        if data is None:
            self._timer.after(TRY_AGAIN)
            return
        self._drawings.missed = True
        self._put([], data, b"", not self._screen.mode(2026), 0)

    def _ask_place(self) -> None:
        """Of the terminal; a few times, if it does not answer."""
        if not self._placement.questions_left or self._screen.alternate_screen:
            return
        if self._placement.ask(self._clock()):
            self._send(wire.pack(wire.WHERE))
        self._timer.at(self._placement.asked_at + ASK_AGAIN)

    def _put(self, boxes: list[Box], draw: bytes, erase: bytes, sync: bool, over: int) -> None:
        drawings = self._drawings
        drawings.count += 1
        cols, rows = self._screen.size
        once = drawings.once if boxes or self._state not in _IS_STAINED else b""
        drawings.asked = _Drawing(drawings.count, boxes, once, erase)
        header = {"id": drawings.count, "at": self._written(), "cols": cols, "rows": rows}
        self._send(wire.pack_overlay({**header, "over": over, "sync": sync}, draw, erase))


def _shape(boxes: list[Box]) -> list[tuple[int, int, int, int]]:
    return [(box.x, box.y, box.width, len(box.lines)) for box in boxes]
