"""The host feature that writes the output log: it reads the screen's contents from time to time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from synapse.host.output_log import OutputLog
from synapse.terminal.screen import Screen

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds between two looks
LOOKS_IN_BURST = 20  # beyond these, until it is quiet again: some 50,000 lines, which is what the log holds


class ScreenLog:
    """`later` is the loop's call_later."""

    def __init__(
        self, log: OutputLog, screen: Screen, later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self._log = log
        self._screen = screen
        self._later = later
        self._due = False
        self._looks_left = LOOKS_IN_BURST

    def output(self, data: bytes) -> None:
        """The agent has written this; the screen shows it already."""
        if self._screen.alternate_screen:
            return  # nothing of it settles
        self._log.feed(data, self._screen.size[0])
        if self._log.is_filling and self._looks_left:
            self._looks_left -= 1
            self._look()
        self._look_later(LOOK_EVERY)

    async def close(self) -> None:
        """The last look."""
        try:
            self._log.end(self._screen.contents().split("\n"))
        except OSError as error:
            logger.warning("cannot write the output log: %s", error)

    def _look_later(self, seconds: float) -> None:
        if not self._due:
            self._due = True
            self._later(seconds, self._look_in_time)

    def _look_in_time(self) -> None:
        self._due = False
        started = time.perf_counter()
        if self._look():
            self._look_later(max(LOOK_EVERY, 50 * (time.perf_counter() - started)))
        else:
            self._looks_left = LOOKS_IN_BURST

    def _look(self) -> bool:
        """Whether another look is worth it."""
        if self._screen.alternate_screen:
            return False
        lines = self._screen.contents().split("\n")
        below = max(len(self._screen.text().split("\n")) - self._screen.cursor[1], 0)
        try:
            return self._log.look(lines, len(lines) - below)
        except OSError as error:
            logger.warning("cannot write the output log: %s", error)
            return False
