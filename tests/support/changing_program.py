"""A program whose screen changes: run by a test as a CLI that was updated or shows another page.

The file `look` in its working directory says how it looks: `usual`; `glyph`, with another mark before what is
typed; `box`, with another composer and footer; `page`, a page over the whole screen. SIGUSR1 makes it look
there. If there is a file `on-paste`, it takes that look as soon as it is pasted to, and with a file
`on-enter` when it has got a message. What it reads is appended to `typed`, one line of JSON for each: its
look then, and the text.
"""

from __future__ import annotations

import json
import os
import select
import signal
import tty
from pathlib import Path

RULE, WIDTH = "─" * 40, 40
PAST, LOOK, ON_PASTE, ON_ENTER = Path("typed"), Path("look"), Path("on-paste"), Path("on-enter")


class Program:
    def __init__(self) -> None:
        self.look, self.talk, self.draft = "usual", ["Acme 1.0", ""], ""
        self.wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGUSR1, lambda *_: None)

    def run(self) -> None:
        tty.setraw(0)
        os.write(1, b"\x1b[?2004h")
        self.paint()
        while True:
            ready, _, _ = select.select([0, self.wake], [], [])
            if self.wake in ready:
                os.read(self.wake, 100)
                self.change(LOOK.read_text())
            if 0 in ready:
                self.read(os.read(0, 65536).decode())

    def change(self, look: str) -> None:
        was, self.look = self.look, look
        if (was == "page") != (look == "page"):
            os.write(1, b"\x1b[?1049h" if look == "page" else b"\x1b[?1049l")
        self.paint()

    def read(self, data: str) -> None:
        with PAST.open("a") as past:
            past.write(json.dumps([self.look, data]) + "\n")
        if "\x1b[200~" in data and ON_PASTE.exists():
            look = ON_PASTE.read_text()
            ON_PASTE.unlink()
            self.draft += _plain(data)
            self.change(look)
            return
        if self.look == "page":
            return
        text, enter, rest = _plain(data).partition("\r")
        self.draft = "" if text.startswith("\x15") else self.draft + text
        if enter and self.draft:
            said = self.draft.partition("] ")[2] or self.draft
            self.talk += [f"❯ {self.draft}", "", f"● You said: {said}", ""]
            self.draft = rest
            if ON_ENTER.exists():
                self.change(ON_ENTER.read_text())
                ON_ENTER.unlink()
        self.paint()

    def paint(self) -> None:
        if self.look == "page":
            rows = ["Acme 2.0 is there", "", "What is new: many things", "", "Press Enter to restart"]
            self.write(rows, 1, len(rows))
            return
        talk = self.talk[-14:]
        if self.look == "box":
            edge = "─" * WIDTH
            rows = [
                *talk,
                f"╭{edge}╮",
                f"│ » {self.draft}".ljust(WIDTH + 1) + "│",
                f"╰{edge}╯",
                "  / commands",
            ]
            column = 5
        else:
            glyph = "❯" if self.look == "usual" else "»"
            rows = [*talk, RULE, f"{glyph} {self.draft}", RULE, "  ? for shortcuts"]
            column = 3
        self.write(rows, column + len(self.draft), len(talk) + 2)

    def write(self, rows: list[str], column: int, row: int) -> None:
        text = "\x1b[H\x1b[2J" + "\r\n".join(rows) + f"\x1b[{row};{column}H"
        os.write(1, text.encode())


def _plain(data: str) -> str:
    return data.replace("\x1b[200~", "").replace("\x1b[201~", "")


if __name__ == "__main__":
    Program().run()
