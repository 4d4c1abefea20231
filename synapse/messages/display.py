"""Draws the inbox on the human's terminal when the agent's output pauses, and again with every output.

While something is drawn, the relay keeps new output for a few milliseconds until the drawing over it comes.
"""

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from synapse.messages.draw_timer import DRAW_INTERVAL, DrawTimer, Later, Timer
from synapse.messages.drawings import NOWHERE, Drawing, Drawings
from synapse.messages.inbox import Action, Close, Copy, Inbox
from synapse.messages.placement import ASK_AGAIN, NEVER, Placement
from synapse.relay import wire
from synapse.terminal.overlay import Box, Painting, drawable_area, paint, paint_aside, repaint
from synapse.terminal.screen import Screen

OUTPUT_PAUSE = 0.006  # seconds without output before anything is drawn
TRY_AGAIN = 0.1  # seconds until a drawing that was refused is tried again
RESIZE_PAUSE = 0.4  # seconds after a resize before anything is drawn: not while a window is dragged
DRAWN_LATELY = 1.0  # seconds: a drawing erased this shortly before a resize may have left traces
ANSWERED_WITHIN = 0.1  # seconds for the terminal to say where its cursor is, before the panel opens
CANNOT_DRAW = b"\x07\x1b]9;Synapse cannot draw over this program. Try: synapse tasks\x07"
VISIBLE_WITHIN = 1.0  # seconds: if the panel is not drawn by then, the agent gets the keys back


class State(Enum):
    """What our drawings have left on the human's terminal."""

    ABSENT = "there is none"
    CLEAN = "only what the relay can erase"
    STAINED = "a resize has moved parts of a drawing: the whole screen must be repainted"
    SPILT = "stained, and parts of the drawing may be in the scrollback too"
    REPAINTED = "repainted, but another resize may bring back parts from the scrollback"


_IS_STAINED = (State.STAINED, State.SPILT)
_AFTER_REPAINT = {State.STAINED: State.CLEAN, State.SPILT: State.REPAINTED}


@dataclass
class _Opened:
    """The panel since it was opened or closed."""

    seen: bool = False  # something was drawn
    keys: int = 0  # bytes
    giving_up: Timer | None = None


@dataclass(eq=False, repr=False)
class Display:
    """`send` takes a frame for the relay, `act` an action of the human; `later` is the loop's call_later;
    `written` returns how many bytes the agent has written. For `young` and `placed` see Placement."""

    inbox: Inbox
    screen: Screen
    written: Callable[[], int]
    send: Callable[[bytes], None]
    later: Later
    act: Callable[[Action], None]
    clock: Callable[[], float] = time.monotonic
    young: bool = False
    placed: bool = True
    resumes: int = 0  # how often the shell had the terminal in between

    def __post_init__(self) -> None:
        self._placement = Placement(self.screen, self.young, self.placed)
        self._timer = DrawTimer(self._draw, self.later, self.clock)
        self._state = State.CLEAN
        self._drawings = Drawings()
        self._opened = _Opened()
        self._edges: list[tuple[int, int]] = []  # of the drawing at the last resize: see _note_edges
        self._calm_at = NEVER  # nothing is drawn before
        self._following = False  # it is drawn again as soon as all output is read
        self._cursor_row = 0  # where the cursor was in the last pause
        self._output_at = NEVER

    def frame(self, kind: int, payload: bytes) -> None:
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
        self._timer.after(0.0)

    def send_once(self, data: bytes) -> None:
        """Write a sequence that draws nothing, such as a notification, in a pause of the output."""
        if self._state is not State.ABSENT:
            self._drawings.once += data
            self._timer.after(OUTPUT_PAUSE)

    def output(self, data: bytes) -> None:
        self._output_at = self.clock()
        self._drawings.outdate(self._output_at)
        self._placement.learn(data)
        if (up := self._drawings.up) is not None and not up.aside and not self._placement.is_inside:
            self._follow(data)
        if self._has_picture or self._state in _IS_STAINED:
            self._timer.after(OUTPUT_PAUSE)

    def _follow(self, data: bytes) -> None:
        """Draw the same again after this output. After a frame or a part of it at once: the agent's end mark
        would show the screen without it. Otherwise after all output that has come."""
        if self.screen.mode(2026) or data.endswith(wire.SYNCHRONISED_END):
            self._draw_again()
        elif not self._following:
            self._following = True
            self.later(0.0, self._draw_again)

    def _draw_again(self) -> None:
        self._following = False
        up = self._drawings.up
        if up is None or up.at == self.written():
            return
        if not self._placement.is_known:
            self._drawings.leave(self.clock())  # the relay erases it
        elif (painting := paint(self.screen, up.boxes)) is not None:
            self._send(up.boxes, painting)

    @property
    def _has_picture(self) -> bool:
        return self.inbox.focused or not self.inbox.is_empty

    def resized(self) -> None:
        """Called before the screen has its new size."""
        self._note_edges()
        now, drawings = self.clock(), self._drawings
        if drawings.up is None or not drawings.up.aside:
            drawings.leave(now)
        drawings.shown = None
        self._placement.resized()
        self._calm_at = now + RESIZE_PAUSE
        if self._state is not State.ABSENT:
            self._stain(now)
        if self._has_picture or self._state in _IS_STAINED:
            self._timer.after(DRAW_INTERVAL)

    def resumed(self, count: int) -> None:
        """The shell has written to the terminal meanwhile; the relay erased the drawing before that."""
        self.resumes = count
        self._drawings.leave(self.clock())
        self._placement.resumed()
        if self._has_picture:
            self._timer.after(DRAW_INTERVAL)

    def _note_edges(self) -> None:
        """How many cells the lines under a drawing have, without it and with it. Only the last row of a line
        becomes longer: a drawing leaves out the last column."""
        up = self._drawings.up
        if self._state not in _IS_STAINED:
            self._edges = []
        if up is None or up.at == NOWHERE or up.aside or self.screen.alternate_screen:
            return
        edges = {y: box.x + box.width for box in up.boxes for y in range(box.y, box.y + len(box.lines))}
        cols, before = self.screen.size[0], 0
        for y, row in enumerate(self.screen.rows(0, self.screen.size[1])):
            if row.wrapped:
                before += cols
                continue
            text = max((x for x, cell in enumerate(row.cells, 1) if cell.text), default=0)
            if y in edges:
                self._edges.append((before + text, before + max(text, edges[y])))
            before = 0

    def _wrapped_rows(self) -> int:
        """How many rows more than the agent's own text the drawing takes in a narrower terminal."""
        cols = self.screen.size[0]
        return sum((max(text, drawn) - 1) // cols - max(text - 1, 0) // cols for text, drawn in self._edges)

    def console_changed(self, present: bool) -> None:
        self._state = State.CLEAN if present else State.ABSENT
        self._drawings.leave(NEVER)
        self._drawings.left_at = NEVER
        self._placement.console_changed()
        self.inbox.focus(False)
        self._tell_state()
        self.changed()

    @property
    def left_behind(self) -> bytes:
        return self._drawings.shown.erase if self._drawings.shown is not None else b""

    def _overlaid(self, number: int, outcome: str) -> None:
        drawings = self._drawings
        asked = drawings.asked.pop(number, None)
        if asked is None:
            return
        is_last = drawings.up is asked
        if outcome == wire.SHOWN:
            drawings.left_at = drawings.left_at if asked.aside else self.clock()
            if asked.at == self.written() and (is_last or not asked.boxes):
                drawings.shown = asked
            self._opened.seen = self._opened.seen or bool(asked.boxes)
            if not asked.boxes and self._state in _IS_STAINED:
                self._state = _AFTER_REPAINT[self._state]
                self._placement.repainted()
            if asked.once == drawings.once:
                drawings.once = b""
        elif is_last and outcome == wire.STALE and not asked.aside:
            drawings.up = asked._replace(at=NOWHERE)  # it is drawn again with the output that came before it
        elif is_last:
            drawings.up = None
        if outcome in (wire.STALE, wire.BUSY):
            self._timer.after(OUTPUT_PAUSE if outcome == wire.STALE else TRY_AGAIN)
        elif drawings.missed and not drawings.asked:
            self._timer.after(0.0)
            drawings.missed = False

    def _place(self, row: int, column: int, at: int) -> None:
        """The position of the terminal's cursor after `at` bytes of the agent's output."""
        if at != self.written():
            self._placement.questions_left = max(self._placement.questions_left, 1)  # more has come since
            self._timer.after(TRY_AGAIN)
        elif self._placement.place(row, column, self._wrapped_rows() if self._state in _IS_STAINED else 0):
            self.changed()

    def _focus(self, on: bool) -> None:
        self.inbox.focus(on)
        if self._opened.giving_up is not None:
            self._opened.giving_up.cancel()
        self._opened = _Opened()
        if on:
            self._opened.giving_up = self.later(VISIBLE_WITHIN, self._give_up)
        self.changed()

    def _give_up(self) -> None:
        """Give the keys back to the agent if the panel cannot be seen, with a bell and a notification."""
        if self.inbox.focused and not self._opened.seen:
            self.inbox.focus(False)
            self._tell_state()
            self._drawings.once = CANNOT_DRAW
            self.changed()

    def _keys(self, data: bytes) -> None:
        self._opened.keys += len(data)
        for action in self.inbox.keys(data):
            if isinstance(action, Copy):
                self._drawings.once = b"\x1b]52;c;" + base64.b64encode(action.text.encode()) + b"\x07"
            elif isinstance(action, Close):
                self._tell_state(used=self._opened.keys - self.inbox.unread)
            else:
                self.act(action)
        self.changed()

    def _tell_state(self, used: int | None = None) -> None:
        """`used`: how many bytes of keys the panel used; the agent gets those after them."""
        state = {"focus": self.inbox.focused, "used": used}
        self.send(wire.pack_json(wire.OVERLAY_STATE, state))

    def _stain(self, now: float) -> None:
        # The terminal may have had its new size before the drawing was erased.
        shown = now - self._drawings.left_at < DRAWN_LATELY
        spilt = self._state in (State.SPILT, State.REPAINTED)
        if spilt or (shown and not self.screen.alternate_screen):
            self._state = State.SPILT
        elif shown:
            self._state = State.STAINED

    def _draw(self) -> None:
        drawings = self._drawings
        if self._state is State.ABSENT:
            return
        if drawings.asked:
            drawings.missed = True
            return
        self._timer.last = now = self.clock()
        if drawings.up is not None and drawings.up.aside and not self.inbox.focused:
            self._remove(now)
        if self._is_moved and (not self.inbox.focused or self.screen.alternate_screen):
            self._settle()
            return
        size, above = self._placement.free()
        if self._must_go_aside(size):
            size, above = self.screen.size, 0
        if now - self._output_at >= OUTPUT_PAUSE:  # during a repaint the cursor is anywhere
            self._cursor_row = self.screen.cursor[1]
        boxes = self.inbox.picture(size, self._cursor_row - above)
        boxes = [box._replace(y=box.y + above) for box in boxes]
        if (wait := self.inbox.next_change()) is not None:
            self._timer.at(now + wait)
        if drawings.shown is not None and drawings.shown.boxes == boxes and not drawings.once:
            return
        if boxes or (drawings.once and drawings.up is not None):
            self._paint(boxes)
        elif drawings.once:
            self._write_once()
        elif drawings.up is not None:
            self._remove(now)

    def _remove(self, now: float) -> None:
        self._drawings.leave(now)
        self.send(wire.pack_overlay({"id": 0, "sync": not self.screen.mode(2026)}))

    def _must_go_aside(self, size: tuple[int, int]) -> bool:
        """Whether the panel can be seen only on the alternate screen: it is not known which rows are the
        agent's, or they are too few, or a resize has just moved them. Once it is there it stays there."""
        if not self.inbox.focused or self.screen.alternate_screen:
            return False
        up, placement = self._drawings.up, self._placement
        if self._is_moved or (up is not None and up.aside):
            return True
        if placement.is_known:
            return drawable_area(size) is None
        return not placement.questions_left or self.clock() - placement.asked_at >= ANSWERED_WITHIN

    def _paint(self, boxes: list[Box]) -> None:
        is_lost = not self._placement.is_known and not self._placement.may_ask
        if not boxes or (is_lost and self._drawings.once and not self.inbox.focused):
            self._write_once()
        elif self._must_go_aside(self._placement.free()[0]):
            self._paint_aside(boxes)
        elif not self._placement.is_known:
            self._ask_place()
        elif (painting := paint(self.screen, boxes)) is not None:
            self._send(boxes, painting)
        elif self.inbox.focused:
            self._paint_aside(boxes)  # something below cannot be written again
        else:
            self._timer.after(TRY_AGAIN)

    def _write_once(self) -> None:
        """Where nothing is drawn, the place of the agent's rows on the terminal need not be known."""
        if self.screen.drawing_cursor() is not None:
            self._put([], self._drawings.once, b"", sync=False, over=0)
        elif self.clock() - self._output_at < DRAWN_LATELY:  # within an escape sequence
            self._timer.after(TRY_AGAIN)
        else:
            self._drawings.once = b""

    def _paint_aside(self, boxes: list[Box]) -> None:
        if (painting := paint_aside(self.screen, boxes)) is None:
            self._timer.after(TRY_AGAIN)
        else:
            self._send(boxes, painting, aside=True)

    def _send(self, boxes: list[Box], painting: Painting, aside: bool = False) -> None:
        up = self._drawings.up
        over = up.number if up is not None and _shape(up.boxes) == _shape(boxes) else 0
        draw = self._drawings.once + painting.draw
        self._put(boxes, draw, painting.erase, sync=painting.synchronise, over=over, aside=aside)

    @property
    def _is_moved(self) -> bool:
        """Whether a resize has moved what is on the screen, and nothing was put in order since."""
        return self._state in _IS_STAINED or self.clock() < self._calm_at

    def _settle(self) -> None:
        """After a resize: wait for the last of several, then remove what is left of a drawing."""
        if self.clock() < self._calm_at:
            self._timer.at(self._calm_at)
        elif self._placement.may_repaint:
            self._repaint()
        elif self._placement.questions_left:
            self._ask_place()
        else:
            self._state = State.CLEAN
            self._timer.after(0.0)

    def _repaint(self) -> None:
        if (data := repaint(self.screen, self._placement.free()[1])) is None:
            self._timer.after(TRY_AGAIN)
            return
        self._drawings.missed = True
        self._put([], data, b"", sync=not self.screen.mode(2026), over=0)

    def _ask_place(self) -> None:
        """Query the terminal; a few times, if it does not answer."""
        if self._placement.may_ask:
            if self._placement.ask(self.clock()):
                self.send(wire.pack(wire.WHERE))
            self._timer.at(self._placement.asked_at + (ANSWERED_WITHIN if self.inbox.focused else ASK_AGAIN))

    def _put(
        self, boxes: list[Box], draw: bytes, erase: bytes, *, sync: bool, over: int, aside: bool = False
    ) -> None:
        drawings = self._drawings
        drawings.count += 1
        cols, rows = self.screen.size
        once = drawings.once if boxes or self._state not in _IS_STAINED else b""
        made = Drawing(drawings.count, self.written(), boxes, once, erase, aside)
        drawings.asked[made.number] = made
        drawings.up = made if erase else None
        header = {"id": made.number, "at": made.at, "cols": cols, "rows": rows, "resumes": self.resumes}
        self.send(wire.pack_overlay({**header, "aside": aside, "over": over, "sync": sync}, draw, erase))


def _shape(boxes: list[Box]) -> list[tuple[int, int, int, int]]:
    return [(box.x, box.y, box.width, len(box.lines)) for box in boxes]
