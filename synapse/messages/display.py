"""The inbox on the human's terminal: draws it when the agent's output pauses, again after every output."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from synapse.messages.inbox import Action, Close, Copy, Inbox
from synapse.relay import wire
from synapse.terminal.overlay import Box, blank_rows, free_area, paint, repaint, shift
from synapse.terminal.screen import Screen

QUIET = 0.006  # seconds without output before anything is drawn
AT_LEAST = 0.05  # seconds between two drawings
AT_MOST = 0.25  # seconds that steady output keeps a drawing waiting
LATELY = 1.0  # seconds that a drawing may have been gone when the terminal was resized under it
CALM = 0.4  # seconds after a resize before anything is drawn: while a window is dragged, nothing is
AGAIN = 0.1  # seconds until a refused one is tried again
VISIBLE = 1.0  # seconds in which the panel must be seen, or the keys go back to the agent
ASKS = 3  # times that a terminal is asked where its cursor is
ASK_AGAIN = 0.5  # seconds
_CLEARS = (b"\x1b[2J", b"\x1bc")


class Timer(Protocol):
    def cancel(self) -> None: ...


class _Drawing(NamedTuple):
    number: int
    boxes: list[Box]
    once: bytes
    erase: bytes


class Display:
    """`send` takes a frame for the relay, `act` what the human wants done; `later` is the loop's call_later.

    A `young` model began in the middle of the output: nothing is drawn before all that is visible was written
    under its eyes, for what it has not seen it could not put back. Nor is the main screen drawn on before
    it is `placed`: an agent that began below a shell's prompt is not in the rows where the model has it. The
    terminal is asked when there is something to draw, and what a shell has left above is never covered.
    """

    def __init__(
        self,
        inbox: Inbox,
        screen: Screen,
        written: Callable[[], int],
        send: Callable[[bytes], None],
        later: Callable[[float, Callable[[], None]], Timer],
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
        self._known = {False: not young and placed, True: not young}  # by whether it is the alternate screen
        self._alternate = screen.alternate_screen
        self._young = young
        self._asks_left = 0 if young else ASKS
        self._asked_place_at = -1e9
        self._above = 0  # rows of the main screen that are the shell's
        self._began = (0, 0)  # how many they were, and how many rows had scrolled then
        self._present = True
        self._number = 0
        self._asked: _Drawing | None = None  # what the relay has not answered yet
        self._on_screen: _Drawing | None = None
        self._missed = False  # something has changed since it was asked
        self._stained = False  # a resize has spread a drawing over the terminal
        self._spilt = False  # and some of it may come back from the scrollback at another one
        self._calm_at = -1e9
        self._left_at = -1e9  # when a drawing was last taken away
        self._once = b""  # goes out with the next drawing, such as a copy to the clipboard
        self._chord = False
        self._seen = False  # something was drawn since the panel was opened
        self._given = 0  # bytes of keys since then
        self._timer: Timer | None = None
        self._giving_up: Timer | None = None
        self._due = 0.0
        self._last = -1e9
        self._waiting_since: float | None = None

    # --- told by the relay and the host -------------------------------------------------------------------

    def frame(self, kind: int, payload: bytes) -> None:
        """One of the relay's frames about the overlay."""
        if kind == wire.OVERLAID:
            told = json.loads(payload)
            self.overlaid(told["id"], told["outcome"])
        elif kind == wire.PLACE:
            self.place(*json.loads(payload))
        elif kind == wire.OVERLAY_FOCUS:
            self.focus(json.loads(payload))
        elif kind == wire.OVERLAY_KEYS:
            self.keys(payload)

    def changed(self) -> None:
        """Something in the inbox has."""
        if self._chord == self._inbox.is_empty:
            self._chord = not self._inbox.is_empty
            self._tell_state()
        self._draw_in(0.0)

    def output(self, data: bytes) -> None:
        """The agent has written; the relay has taken away what was drawn."""
        self._leave()
        self._learn(data)
        if self._chord or self._stained:
            self._draw_in(QUIET)

    def place(self, row: int, column: int, at: int) -> None:
        """Where the cursor is in the terminal, which has had `at` bytes of the agent's output."""
        if self._screen.alternate_screen or at != self._written():
            self._asks_left = max(self._asks_left, 1)  # more has come since
            self._draw_in(AGAIN)
        elif column == self._screen.cursor[0] and shift(self._screen, row - self._screen.cursor[1]):
            self._above = blank_rows(self._screen)
            self._began = (self._above, self._screen.has_scrolled())
            self._known[False] = True
            self.changed()

    def _ask_place(self) -> None:
        """Of the terminal; a few times, if it does not answer."""
        if not self._asks_left or self._screen.alternate_screen:
            return
        now = self._clock()
        if now - self._asked_place_at >= ASK_AGAIN:
            self._asks_left -= 1
            self._asked_place_at = now
            self._send(wire.pack(wire.WHERE))
        self._draw_at(self._asked_place_at + ASK_AGAIN)

    def resized(self) -> None:
        self._leave()
        if not self._young:  # where the rows above go, every terminal decides itself
            self._known[False], self._asks_left, self._asked_place_at = False, ASKS, -1e9
        now = self._clock()
        self._calm_at = now + CALM
        # What took it away may have come to a terminal that had another size already.
        shown = now - self._left_at < LATELY
        self._spilt = self._spilt or (shown and not self._screen.alternate_screen)
        self._stained = self._stained or self._spilt or shown
        if self._chord or self._stained:
            self._draw_in(AT_LEAST)

    def console_changed(self, present: bool) -> None:
        """Another terminal, as the agent left it, or none."""
        self._present, self._on_screen, self._stained, self._spilt = present, None, False, False
        self._left_at = -1e9
        self._known[False], self._above = not self._young, 0  # it is given all of the screen
        self._inbox.focus(False)
        self._tell_state()
        self.changed()

    def overlaid(self, number: int, outcome: str) -> None:
        asked = self._asked
        if asked is None or asked.number != number:
            return
        self._asked = None
        if outcome == wire.SHOWN:
            self._on_screen = asked
            self._seen = self._seen or bool(asked.boxes)
            self._stained = self._stained and bool(asked.boxes)
            if asked.once == self._once:
                self._once = b""
        if outcome in (wire.STALE, wire.BUSY):
            self._draw_in(QUIET if outcome == wire.STALE else AGAIN)
        elif self._missed:
            self._draw_in(0.0)
        self._missed = False

    def focus(self, on: bool) -> None:
        self._inbox.focus(on)
        self._seen, self._given = False, 0
        if self._giving_up is not None:
            self._giving_up.cancel()
        self._giving_up = self._later(VISIBLE if self._can_draw() else 0.0, self._give_up) if on else None
        self.changed()

    def _can_draw(self) -> bool:
        known = self._known[self._screen.alternate_screen] or self._asks_left
        return bool(known) and free_area(self._free()[0]) is not None

    def _free(self) -> tuple[tuple[int, int], int]:
        """The part of the screen that may be covered: its size, and the rows above it."""
        above = 0 if self._screen.alternate_screen else self._above
        cols, rows = self._screen.size
        return (cols, rows - above), above

    def _give_up(self) -> None:
        """Nobody types into a panel that cannot be seen."""
        if self._inbox.focused and not self._seen:
            self._inbox.focus(False)
            self._tell_state()
            self.changed()

    def keys(self, data: bytes) -> None:
        self._given += len(data)
        for action in self._inbox.keys(data):
            if isinstance(action, Copy):
                self._once = b"\x1b]52;c;" + base64.b64encode(action.text.encode()) + b"\x07"
            elif isinstance(action, Close):
                self._tell_state(used=self._given - self._inbox.unread)
            else:
                self._act(action)
        self.changed()

    @property
    def left_behind(self) -> bytes:
        """What takes away a drawing whose relay was killed."""
        return self._on_screen.erase if self._on_screen is not None else b""

    # --- drawing ------------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Nothing of ours is on the screen any more."""
        if self._on_screen is not None:
            self._on_screen, self._left_at = None, self._clock()

    def _tell_state(self, used: int | None = None) -> None:
        """`used`: how many bytes of keys were the panel's; what came after them is the agent's."""
        state = {"chord": self._chord, "focus": self._inbox.focused, "used": used}
        self._send(wire.pack_json(wire.OVERLAY_STATE, state))

    def _learn(self, data: bytes) -> None:
        if all(self._known.values()) and not self._above:
            return
        alternate = self._screen.alternate_screen
        entered = alternate and not self._alternate
        cleared = any(mark in data for mark in _CLEARS) or self._screen.has_scrolled() >= self._screen.size[1]
        self._alternate = alternate
        self._known[alternate] = self._known[alternate] or entered or cleared
        if self._above and not alternate:
            rows, scrolled = self._began
            left = rows - (self._screen.has_scrolled() - scrolled)
            self._above = 0 if cleared else max(min(self._above, left), 0)

    def _draw_in(self, seconds: float) -> None:
        """One drawing serves any number of causes; output that goes on puts it off, but not for ever."""
        now = self._clock()
        if self._waiting_since is None:
            self._waiting_since = now
        due = min(max(now + seconds, self._last + AT_LEAST), max(self._waiting_since + AT_MOST, now))
        if self._timer is None or self._due > due or seconds:
            self._draw_at(due)

    def _draw_at(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._later(max(due - self._clock(), 0.0), self._draw)

    def _draw(self) -> None:
        self._timer, self._waiting_since = None, None
        if not self._present:
            return
        if self._asked is not None:
            self._missed = True
            return
        self._last = self._clock()
        if self._stained:
            self._mend()
            return
        if self._last < self._calm_at:
            self._draw_at(self._calm_at)
            return
        size, above = self._free()
        boxes = self._inbox.picture(size, self._screen.cursor[1] - above)
        boxes = [box._replace(y=box.y + above) for box in boxes]
        wait = self._inbox.next_change()
        if wait is not None:
            self._draw_at(self._last + wait)
        if self._on_screen is not None and self._on_screen.boxes == boxes and not self._once:
            return
        if boxes or self._once:
            self._paint(boxes)
        elif self._on_screen is not None:
            self._leave()
            self._send(wire.pack_overlay({"id": 0, "sync": not self._screen.mode(2026)}))

    def _paint(self, boxes: list[Box]) -> None:
        if not self._known[self._screen.alternate_screen]:
            self._ask_place()
            return
        painting = paint(self._screen, boxes)
        if painting is None:
            self._draw_in(AGAIN)
            return
        shown = self._on_screen
        over = shown.number if shown is not None and _shape(shown.boxes) == _shape(boxes) else 0
        self._put(boxes, self._once + painting.draw, painting.erase, painting.synchronise, over)

    def _mend(self) -> None:
        """The whole screen anew, then what is to be over it."""
        if not self._known[self._screen.alternate_screen] and self._asks_left:
            self._ask_place()
            return
        if not self._known[self._screen.alternate_screen] or self._free()[1]:  # what is above is not known
            self._stained = self._spilt = False
            self._draw_in(0.0)
            return
        data = repaint(self._screen)
        if data is None:
            self._draw_in(AGAIN)
            return
        self._missed = True
        self._put([], data, b"", not self._screen.mode(2026), 0)

    def _put(self, boxes: list[Box], draw: bytes, erase: bytes, sync: bool, over: int) -> None:
        self._number += 1
        cols, rows = self._screen.size
        self._asked = _Drawing(self._number, boxes, self._once if boxes or not self._stained else b"", erase)
        header = {"id": self._number, "at": self._written(), "cols": cols, "rows": rows}
        self._send(wire.pack_overlay({**header, "over": over, "sync": sync}, draw, erase))


def _shape(boxes: list[Box]) -> list[tuple[int, int, int, int]]:
    return [(box.x, box.y, box.width, len(box.lines)) for box in boxes]
