"""The overlay without processes: display, relay and terminal, with a clock that the test moves."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable

from synapse.messages.display import Display
from synapse.messages.inbox import Action, Inbox
from synapse.relay import wire
from synapse.relay.link import LOOK_AFTER
from synapse.relay.overlay_layer import OverlayLayer, parts, unfinished
from synapse.terminal.ghostty import GhosttyScreen
from tests.support.note_view import NoteView

CHORD = (b"\x1d", b"o")


class Handle:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class World:
    """A terminal, a relay and a host; the test decides when a frame arrives."""

    def __init__(self, size: tuple[int, int] = (80, 24), young: bool = False) -> None:
        self.now = 0.0
        self.terminal, self.model = GhosttyScreen(*size), GhosttyScreen(*size)
        self.to_host: deque[bytes] = deque()
        self.to_relay: deque[bytes] = deque()
        self.timers: list[tuple[float, int, Handle, Callable[[], None]]] = []
        self.written_relay = self.written_host = 0
        self.agent = b""  # the keys that reached the agent
        self.actions: list[Action] = []
        self.layer = OverlayLayer(CHORD, self.to_host.append)
        self.layer.host_came()
        self.inbox = Inbox(lambda: self.now)
        self.size = size
        self.drawings = 0
        self._numbers = itertools.count()
        self.on_view: Callable[[], None] | None = None  # called with every picture that the terminal shows
        self._begun = b""  # the beginning of a sequence
        self._gathered: list[tuple[int, bytes]] = []  # frames of output that the host will be sent together
        self._handed_at = -1.0
        self.stalled = False  # the host does nothing
        self.answers = True  # whether the terminal answers the query for its cursor
        self.display = Display(
            *(self.inbox, self.model, lambda: self.written_host, self.to_relay.append, self._later),
            *(self.actions.append, lambda: self.now, young),
        )

    def _later(self, seconds: float, call: Callable[[], None]) -> Handle:
        handle = Handle()
        heapq.heappush(self.timers, (self.now + seconds, next(self._numbers), handle, call))
        return handle

    def output(self, data: bytes) -> None:
        """As Front and Relay do it: output waits for its drawing, and the host gets it every 3 ms."""
        if self.layer.follows or self._begun:
            data = self._begun + data
            end = len(data) - unfinished(data)
            self._begun, data = data[end:], data[:end]
        self.written_relay += len(data)
        if not self.layer.follows or not self.layer.wait(data, self.now):
            self.show(self.layer.remove() + data)
            self._hand_over()
            self.to_host.append(wire.pack(wire.OUTPUT, data))
            return
        if self.layer.due is not None:
            self._later(self.layer.due - self.now, self._release)
        self._gathered += ((wire.OUTPUT, part) for part in parts(data))
        wait = LOOK_AFTER if self.layer.is_frame_open else self._handed_at + LOOK_AFTER - self.now
        self._later(max(wait, 0.0), self._hand_over)

    def _hand_over(self) -> None:
        if self._gathered:
            self._handed_at = self.now
            self.to_host += (wire.pack(*frame) for frame in wire.joined(self._gathered))
            self._gathered.clear()

    def _release(self) -> None:
        if self.layer.due is not None and self.layer.due <= self.now:
            self.show(self.layer.release(self.now))

    def show(self, data: bytes) -> None:
        """One write to the terminal. It shows what it has at each end of synchronised output, and after the
        write unless synchronised output is on."""
        if self.on_view is None:
            self.terminal.feed(data)
            return
        parts = data.split(wire.SYNCHRONISED_END)
        for number, part in enumerate(parts):
            self.terminal.feed(part)
            if number < len(parts) - 1:
                self.terminal.feed(wire.SYNCHRONISED_END)
                self.on_view()
        if not self.terminal.mode(2026):
            self.on_view()

    def resize(self, cols: int, rows: int) -> None:
        self.terminal.resize(cols, rows)
        self.size = (cols, rows)
        self.show(self.layer.resized())
        self._hand_over()
        self.to_host.append(wire.pack_size(cols, rows))

    def type(self, keys: bytes) -> None:
        self.agent += self.layer.take(keys)

    def host_turn(self) -> None:
        for kind, payload in wire.Unpacker().feed(self.to_host.popleft()):
            if kind == wire.OUTPUT:
                self.written_host += len(payload)
                self.model.feed(payload)
                self.display.output(payload)
            elif kind == wire.RESIZE:
                self.display.resized()
                self.model.resize(*wire.unpack_size(payload))
            else:
                self.display.frame(kind, payload)

    def relay_turn(self) -> None:
        for kind, payload in wire.Unpacker().feed(self.to_relay.popleft()):
            if kind == wire.OVERLAY:
                data = self.layer.show(payload, self.written_relay, self.size, None)
                self.drawings += bool(data)
                self.show(data)
            elif kind == wire.WHERE:
                x, y = self.terminal.cursor
                if self.answers and not self.layer.waiting:
                    self.to_host.append(wire.pack_json(wire.PLACE, [y, x, self.written_relay]))
            else:
                self.agent += self.layer.set_state(payload)

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while True:
            self.settle()
            if not self.timers or self.timers[0][0] > end:
                break
            due, _, handle, call = heapq.heappop(self.timers)
            self.now = max(self.now, due)
            if not handle.cancelled:
                call()
        self.now = end

    def settle(self) -> None:
        while (self.to_host and not self.stalled) or self.to_relay:
            if self.to_host and not self.stalled:
                self.host_turn()
            if self.to_relay:
                self.relay_turn()

    def lift(self) -> None:
        self.show(self.layer.remove())
        if self._begun:
            begun, self._begun = self._begun, b""
            self.show(begun)
            self.model.feed(begun)

    def shown(self) -> str:
        return self.terminal.text()


def sent(world: World, name: str = "1", target: str = "codex") -> None:
    world.inbox.sending(name, target, "review this")
    world.display.changed()
    world.pass_time(0.3)


def note_over(world: World, frames: list[tuple[float, bytes]]) -> tuple[float, float]:
    """The share of the time that a note is seen over these frames, and how often it switches a second."""
    sent(world)
    view = NoteView(lambda: "codex: " in world.shown(), world.now)
    world.on_view = lambda: view.look(world.now)
    began = renewed = world.now
    for at, data in frames:
        while began + at > world.now:
            world.pass_time(min(began + at - world.now, 10.0))
            if world.now - renewed >= 10.0:  # before it goes by itself
                world.inbox.sending("1", "codex", "review this")
                world.display.changed()
                renewed = world.now
        world.output(data)
    world.pass_time(1.0)
    return view.figures(world.now)
