"""An agent that repaints its screen all the time, behind a real relay and host, and a note over it."""

from __future__ import annotations

import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from synapse.relay.wire import SYNCHRONISED_END
from synapse.testing import Terminal
from tests.support.home import Home
from tests.support.note_view import NoteView

PAINTER = """
import os, sys, time, tty
tty.setraw(0)
os.write(1, b"\\x1b[2J")
while True:
    body = b"".join(b"\\x1b[%d;1H\\x1b[2Kframe %s" % (row, b"text " * 12) for row in range(2, 20))
    body += b"\\x1b[22;1H\\x1b[2KT%.6f;\\x1b[23;3H" % time.monotonic()
    os.write(1, b"\\x1b[?2026h" + body + b"\\x1b[?2026l")
    time.sleep(float(sys.argv[1]))
"""
CONFIG = "agents:\n  helper:\n    profile: dummy\n    auto_start: true\n"
_STAMP = re.compile(rb"T(\d+\.\d+);")


class Watched:
    """The terminal in front of that agent."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._awaited = "helper: failed"  # what is watched

    def raise_note(self) -> None:
        """Until one is seen: a line with a wrong flag is refused, and a note says so."""
        while not self._is_shown():
            self._terminal.type("@helper --priority 9 x\r")
            until = time.monotonic() + 1.0
            while time.monotonic() < until and not self._is_shown():
                self._terminal.pump(0.02)

    def open_panel(self) -> None:
        self.raise_note()
        self._awaited = "╭─ helper"
        self._terminal.type("\x1do")
        self._terminal.wait(self._is_shown, "panel")

    def _is_shown(self) -> bool:
        return self._awaited in self._terminal.screen.text()

    def watch(self, seconds: float) -> tuple[float, float, list[float]]:
        """The share of the time that note or panel is seen, the switches a second, the age of each frame."""
        terminal, screen = self._terminal, self._terminal.screen
        view, ages = NoteView(self._is_shown, time.monotonic()), []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not select.select([terminal.pty.master], [], [], 0.05)[0]:
                continue
            data, now = terminal.pty.read() or b"", time.monotonic()
            ages += [now - float(match[1]) for match in _STAMP.finditer(data)]
            first, *rest = data.split(SYNCHRONISED_END)
            screen.feed(first)
            for part in rest:
                screen.feed(SYNCHRONISED_END)
                view.look(now)
                screen.feed(part)
            if not screen.mode(2026):
                view.look(now)
        share, switches = view.figures(time.monotonic())
        return share, switches, ages


@contextmanager
def repainting(home: Home, every: float) -> Iterator[Watched]:
    (home.path / "synapse").mkdir()
    (home.path / "synapse" / "config.yaml").write_text(CONFIG)
    (home.path / "painter.py").write_text(PAINTER)
    home.profile("painter", f"command: ['{sys.executable}', '{home.path / 'painter.py'}', '{every}']\n")
    with home.terminal("painter", cols=100, rows=30) as terminal:
        terminal.wait_for("frame")
        terminal.wait(lambda: not home.run("status", "painter", check=False).returncode, "host")
        yield Watched(terminal)
