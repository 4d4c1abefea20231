"""What the relay tells, frame by frame, passed on to the parts of one agent."""

from __future__ import annotations

import json
from collections.abc import Callable

from synapse.host.assembly import Agent
from synapse.relay import wire
from synapse.relay.console import restore_terminal
from synapse.tasks.task import GONE
from synapse.terminal.screen import undo_modes


class RelayFrames:
    """`send` takes a frame for the relay."""

    def __init__(self, agent: Agent, send: Callable[[bytes], None]) -> None:
        self.agent = agent
        self._send = send
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
            controller.resized(*wire.unpack_size(payload))
            agent.display.resized()
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
            agent.engine.fail_all(error.to_a2a_error() if error else GONE)

    def restore_terminal(self) -> None:
        """The relay was killed and has left the human's terminal as the agent had it."""
        if self._console is not None:
            undo = self.agent.display.left_behind + undo_modes(self.agent.controller.screen)
            restore_terminal(self._console, undo)
