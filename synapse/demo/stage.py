"""Shows the demo: an agent's terminal, drawn live with a caption, or printed as plain text."""

import os
import sys
import time
from collections.abc import Callable, Sequence

from synapse.errors import SynapseError
from synapse.terminal import cells
from synapse.testing import Terminal

CAPTION = 8  # rows, one of them a rule
SMALLEST = (80, 24)  # columns and rows of a terminal in which it is drawn live
SETTLED = 0.2  # seconds without a byte
KEY = 0.045  # seconds between two keys, when it is drawn live
PLAIN = (80, 20)  # columns and rows otherwise
PATIENCE = 30.0  # seconds


class Stage:
    """One agent in the foreground. On a terminal it is drawn as it changes; otherwise `show` prints it."""

    def __init__(self, argv: Sequence[str], env: dict[str, str]) -> None:
        self.live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        if self.live:
            size = os.get_terminal_size()
            self.live = size.columns >= SMALLEST[0] and size.lines >= SMALLEST[1]
            if not self.live:
                print(
                    f"This terminal has {size.columns} columns and {size.lines} rows. Make it at least "
                    f"{SMALLEST[0]} by {SMALLEST[1]} and run the demo again to see the screens; "
                    "until then, here is a report."
                )
        self._cols, self._rows = (size.columns, size.lines - CAPTION) if self.live else PLAIN
        self._terminal = Terminal(argv, env, self._cols, self._rows)
        self._caption: list[str] = []
        self._drawn = ""
        if self.live:
            self._write("\x1b[?1049h\x1b[?25l\x1b[2J")

    def close(self) -> None:
        self._terminal.__exit__(None, None, None)
        if self.live:
            self._write("\x1b[?25h\x1b[?1049l")
            self.live = False

    @property
    def text(self) -> str:
        return self._terminal.screen.text()

    def caption(self, title: str, *lines: str) -> None:
        if self.live:
            self._caption = [title, *lines][: CAPTION - 1]
            self._draw()
            return
        print(f"\n# {title}")
        for line in lines:
            print(f"  {line}")
        sys.stdout.flush()

    def show(self) -> None:
        if self.live:
            return
        seen = -1
        while seen != len(self._terminal.raw):
            seen = len(self._terminal.raw)
            self.rest(SETTLED)
        self.print(self.text)

    def print(self, text: str) -> None:
        lines = [line.rstrip() for line in text.strip("\n").split("\n")]
        if self.live:
            self._caption = [*self._caption[:2], *(f"  {line}" for line in lines)][: CAPTION - 1]
            self._draw()
            return
        for line in lines:
            print(f"  │ {line}" if line else "  │")
        sys.stdout.flush()

    def type(self, text: str) -> None:
        for key in text if self.live else [text]:
            self._terminal.type(key)
            self.linger(KEY)

    def enter(self, text: str) -> None:
        self.type(text)
        self.press("\r")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.linger(0.3)
            self._terminal.type(key)
        self.linger(0.1)

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._pump(min(left, 0.04))

    def linger(self, seconds: float) -> None:
        self.rest(seconds if self.live else 0.0)

    def until(self, condition: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise SynapseError(
                    f"the demo failed: {complaint} within {PATIENCE:g} s, and the screen was:\n{self.text}"
                )
            self._pump(0.04)

    def until_shown(self, text: str) -> None:
        self.until(lambda: text in self.text, f"{text!r} was not on the screen")

    def _pump(self, seconds: float) -> None:
        if not self._terminal.pump(seconds):
            time.sleep(seconds)
        if self.live:
            self._draw()

    def _draw(self) -> None:
        rows = self._terminal.screen.ansi().replace("\r", "").split("\n")
        out = "".join(
            f"\x1b[{number + 1};1H\x1b[m{rows[number] if number < len(rows) else ''}\x1b[m\x1b[K"
            for number in range(self._rows)
        )
        column, row = self._terminal.screen.cursor
        out += f"\x1b[{self._rows + 1};1H\x1b[2m{'─' * self._cols}\x1b[m"
        for number in range(CAPTION - 1):
            line = cells.crop(self._caption[number], self._cols - 2) if number < len(self._caption) else ""
            look = ("\x1b[1;36m", "\x1b[1m")[number] if number < 2 else ""
            out += f"\x1b[{self._rows + 2 + number};2H\x1b[K{look}{line}\x1b[m"
        visible = self._terminal.screen.cursor_visible
        out += f"\x1b[{row + 1};{column + 1}H\x1b[?25{'h' if visible else 'l'}"
        if out != self._drawn:
            self._drawn = out
            self._write(f"\x1b[?2026h{out}\x1b[?2026l")

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
