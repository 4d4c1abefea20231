"""TerminalController: one agent's terminal as the rest of the host sees it."""

import logging
import time
from collections.abc import Callable

from synapse.idle_detector import IdleDetector
from synapse.profiles import MODE_NAMES, Profile
from synapse.registry import PROCESSING, READY
from synapse.relay import wire
from synapse.terminal.screen import Screen, make_screen

logger = logging.getLogger(__name__)

CONTEXT_LENGTH = 2000


class TerminalController:
    """Fed by the relay's frames; everything typed into the agent goes back to the relay.

    `send` takes a frame for the relay. Times come from `clock`, so that tests set them.
    """

    def __init__(
        self,
        profile: Profile,
        send: Callable[[bytes], None],
        cols: int,
        rows: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.profile = profile
        self.screen: Screen = make_screen(cols, rows)
        self.status = PROCESSING
        self.exit_status: int | None = None
        self.output_bytes = 0
        self._send = send
        self._clock = clock
        idle = profile.idle_detection
        self._idle = IdleDetector(
            idle.strategy, idle.pattern, idle.pattern_use, idle.timeout, modes=MODE_NAMES
        )
        self._output_callbacks: list[Callable[[bytes], None]] = []
        self._status_callbacks: list[Callable[[str], None]] = []

    @property
    def running(self) -> bool:
        return self.exit_status is None

    # --- from the relay -----------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        self.screen.feed(data)
        self.output_bytes += len(data)
        self._idle.output(self._clock())
        for callback in self._output_callbacks:
            callback(data)
        self._set_status(PROCESSING)

    def resized(self, cols: int, rows: int) -> None:
        self.screen.resize(cols, rows)

    def console_changed(self, present: bool) -> None:
        """A human's terminal answers terminal queries itself; without one, the emulator does."""
        self.screen.on_reply(None if present else self._type)

    def exited(self, status: int) -> None:
        self.exit_status = status

    # --- for the host -------------------------------------------------------------------------------------

    def check_status(self) -> float | None:
        """Look at the screen and the clock; seconds until it is worth looking again, if ever."""
        now = self._clock()
        if self._idle.is_idle(now, self.screen.text, self.screen.mode):
            self._set_status(READY)
        return self._idle.next_check(now)

    def write(self, data: str, submit_seq: str | None = None) -> None:
        """Type text, and then what submits it."""
        self._type(data.encode() + (submit_seq or "").encode())

    def type_keys(self, data: bytes) -> None:
        self._type(data)

    def interrupt(self) -> None:
        """Press what interrupts this agent."""
        self._type(self.profile.interrupt_keys)

    def stop(self) -> None:
        """End the agent, and with it the relay."""
        self._send(wire.pack(wire.STOP))

    def get_context(self, length: int = CONTEXT_LENGTH) -> str:
        """The last of the rendered text."""
        return self.screen.contents()[-length:]

    def add_output_callback(self, callback: Callable[[bytes], None]) -> None:
        self._output_callbacks.append(callback)

    def remove_output_callback(self, callback: Callable[[bytes], None]) -> None:
        if callback in self._output_callbacks:
            self._output_callbacks.remove(callback)

    def add_status_callback(self, callback: Callable[[str], None]) -> None:
        self._status_callbacks.append(callback)

    def _type(self, data: bytes) -> None:
        self._send(wire.pack(wire.TYPE, data))

    def _set_status(self, status: str) -> None:
        if status != self.status:
            self.status = status
            for callback in self._status_callbacks:
                callback(status)
