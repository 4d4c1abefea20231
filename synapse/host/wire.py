"""The host's end of the socket to its relay: the protocol, and what each frame does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from synapse.base import paths
from synapse.host.assembly import Agent
from synapse.relay import wire
from synapse.relay.console import restore_terminal
from synapse.tasks.task import GONE
from synapse.terminal.screen import undo_modes

TakeFrame = Callable[[int, bytes], None]


class RelayWire(asyncio.Protocol):
    """`meet` gets the relay's hello and returns the function for the frames after it; `ended` is called once.

    Not `add_reader`: libuv silently stops reading a socket that reports an error, and a socket whose relay
    has died with unread data does that."""

    def __init__(
        self, meet: Callable[[dict[str, Any], RelayWire], TakeFrame], ended: Callable[[], None]
    ) -> None:
        self._meet = meet
        self._ended = ended
        self._is_open = True
        self._unpacker = wire.Unpacker()
        self._take: TakeFrame = self._hello
        self._write: Callable[[bytes], None] = lambda _: None

    def send(self, frame: bytes) -> None:
        if self._is_open:
            self._write(frame)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast(asyncio.WriteTransport, transport).write  # uvloop's class is no subclass of it

    def data_received(self, data: bytes) -> None:
        frames = self._unpacker.feed(data)
        for kind, payload in wire.joined(frames) if len(frames) > 1 else frames:
            self._take(kind, payload)

    def eof_received(self) -> None:
        self.connection_lost(None)  # earlier than the loop's own call, which comes alone after an error

    def connection_lost(self, _: Exception | None) -> None:
        if self._is_open:
            self._is_open = False
            self._ended()

    def _hello(self, kind: int, payload: bytes) -> None:
        if kind != wire.HELLO:
            raise ValueError(f"the relay's first frame is {kind}, not a hello")
        self._take = self._meet(json.loads(payload), self)


class RelayFrames:
    """Passes the relay's frames on to the parts of one agent. `send` takes a frame for the relay; `ended` is
    called when the agent has ended and accepts nothing any more."""

    def __init__(self, agent: Agent, send: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self.agent = agent
        self._send = send
        self._ended = ended
        self._console = agent.hello.console

    def take(self, kind: int, payload: bytes) -> None:
        agent, controller = self.agent, self.agent.controller
        if kind == wire.OUTPUT:
            controller.feed(payload)
            agent.status.soon()
        elif kind == wire.KEYS:
            controller.human_typed(*wire.unpack_keys(payload))
            agent.status.soon()
        elif kind in (wire.COMMAND, wire.REFUSED):
            controller.command(json.loads(payload))
        elif kind == wire.INJECTED:
            told = json.loads(payload)
            controller.injected(str(told["id"]), str(told["outcome"]))
            agent.status.soon()
        elif kind == wire.RESIZE:
            agent.display.resized()
            controller.resized(*wire.unpack_size(payload))
        elif kind == wire.RESUMED:
            agent.display.resumed(json.loads(payload))
        elif kind == wire.CONSOLE:
            self._console = json.loads(payload)
            controller.console_changed(self._console is not None)
            agent.display.console_changed(self._console is not None)
        elif kind in (wire.PLACE, wire.OVERLAID, wire.OVERLAY_FOCUS, wire.OVERLAY_KEYS):
            agent.display.frame(kind, payload)
        elif kind == wire.SNAPSHOT_WANTED:
            self._send(wire.pack(wire.SNAPSHOT, controller.screen.snapshot()))
        elif kind == wire.PING:
            self._send(wire.pack(wire.PONG))
        elif kind == wire.EXIT:
            controller.exited(json.loads(payload))
            error = controller.observer.error
            agent.engine.end(error.to_a2a_error() if error else GONE)
            self._ended()

    def restore_terminal(self) -> None:
        """Undo the terminal modes that a killed relay has left on the human's terminal."""
        if self._console is not None:
            left, screen = self.agent.display.left_behind, self.agent.controller.screen
            restore_terminal(self._console, lambda shell_is_back: left + undo_modes(screen, shell_is_back))
            with suppress(OSError), open(paths.restored_file(self.agent.hello.child), "w"):
                pass
