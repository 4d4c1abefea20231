"""A human at a CLI: types, waits for it to settle, and keeps what was seen as an asciicast recording."""

from __future__ import annotations

import codecs
import gzip
import json
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from synapse.terminal.screen import Screen, make_screen
from synapse.testing import Terminal

COLS, ROWS = 120, 40
ENTER_AFTER = 0.3  # some CLIs take an Enter that follows within 100 ms for part of a paste
QUIET = 1.5  # CLIs are silent for up to 0.97 s in the middle of an answer


class Driver(Terminal):
    """Answers the program's questions about the terminal, as a real one does."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, cols: int = COLS, rows: int = ROWS
    ) -> None:
        super().__init__(["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(cwd), *argv], env, cols, rows)
        self.command = " ".join(argv)
        self.size = (cols, rows)
        self.began = time.monotonic()
        self.heard = self.began  # when it wrote last
        self.events: list[tuple[float, str, str]] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.screen.on_reply(self.type)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # To all at once: of two processes of a CLI the first may end only after the second.
        self.pty.signal_session(signal.SIGTERM)
        super().__exit__(kind, error, traceback)

    def pump(self, seconds: float = 0.05) -> bool:
        before = len(self.raw)
        alive = super().pump(seconds)
        if len(self.raw) > before:
            self.heard = time.monotonic()
            self._note("o", self._decoder.decode(bytes(self.raw[before:])))
        return alive

    def type(self, text: str | bytes) -> None:
        self._note("i", text if isinstance(text, str) else text.decode(errors="replace"))
        super().type(text)

    def resize(self, cols: int, rows: int) -> None:
        self._note("r", f"{cols}x{rows}")
        super().resize(cols, rows)

    def mark(self, what: str) -> None:
        self._note("m", what)

    def rest(self, seconds: float) -> None:
        """Look on for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self.pump(min(left, 0.05)):
            pass

    def submit(self, text: str) -> None:
        """Type a short line and press Enter, as fast as every CLI can follow."""
        self.mark("type")
        self.type(text)
        self.wait_for(text)
        self.rest(ENTER_AFTER)
        self.mark("enter")
        self.type("\r")

    def settle(self, quiet: float = QUIET) -> None:
        """Until it is idle, and so silent; while it asks something, its title may blink."""
        self.wait(lambda: time.monotonic() - self.heard > quiet, f"silence of {quiet} s", 60.0)

    def copy_of_screen(self) -> Screen:
        """The screen as it is now, which does not change any more."""
        copied = make_screen(*self.size)
        copied.feed(bytes(self.raw))
        return copied

    def save(self, path: Path, title: str) -> None:
        """Everything so far, as asciicast v2; gzipped unless it is named .cast."""
        head = {
            "version": 2,
            "width": self.size[0],
            "height": self.size[1],
            "timestamp": int(time.time() - (time.monotonic() - self.began)),
            "title": title,
            "command": self.command,
            "env": {"TERM": "xterm-256color"},
        }
        lines = [head, *([round(at, 4), kind, data] for at, kind, data in self.events)]
        plain = path.suffix == ".cast"
        with path.open("w", encoding="utf-8") if plain else gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def _note(self, kind: str, data: str) -> None:
        if data:
            self.events.append((time.monotonic() - self.began, kind, data))
