"""A program that draws a scroll bar in the last column for a moment: its text is read without it."""

from __future__ import annotations

from synapse.agents.base import Channel, Surroundings
from synapse.profiles.loader import load_profile
from synapse.terminal.cells import width
from synapse.terminal.screen import Screen, make_screen
from synapse.watch.screen.reader import ScreenReader
from synapse.watch.screen.scroll_bar import BarlessText

COLUMNS = 60
CONVERSATION = """\
│ ~/work                                                │
└───────────────────────────────────────────────────────┘
  > 日本 hello
  ◆ I will touch a file.
  ? Shell touch synapse-was-here && echo touched       ←

     touch synapse-was-here && echo touched

   Allow execution of: 'touch'?

   › 1. Yes, allow once
     2. Always allow run 'touch *' commands in this project
     3. Always allow run 'touch *' commands for this user
     4. No, suggest changes (esc)
"""
FOOTER = "\n  ⠏ Waiting for user confirmation..."


def shown(bar: str) -> Screen:
    rows = CONVERSATION.split("\n")
    if bar:
        rows = [
            f"{row}{' ' * (COLUMNS - 1 - width(row))}{bar[0 if n < 4 else 1]}" for n, row in enumerate(rows)
        ]
    screen = make_screen(COLUMNS, 24)
    screen.feed("\r\n".join(["\x1b[?1049h\x1b[H" + rows[0], *rows[1:], *FOOTER.split("\n")]).encode())
    screen.feed(b"\x1b[?25l")
    return screen


def test_a_question_is_the_same_with_a_bar_beside_it() -> None:
    channel = Channel(Surroundings("/", {}, 0.0))
    barred, plain = (ScreenReader(load_profile("qwen"), shown(bar), channel).question() for bar in ("│█", ""))
    assert barred is not None and barred == plain
    assert barred.subject == "touch synapse-was-here && echo touched"
    assert (barred.options or [])[-1] == "No, suggest changes" and barred.cancel == "Escape"


def test_the_bar_is_in_no_text() -> None:
    barred, plain = BarlessText(shown("│█"), ["│█"]), shown("")
    assert barred.text() == plain.text()
    assert barred.contents() == plain.contents()


def test_the_edge_of_a_box_is_no_bar() -> None:
    """A bar has a thumb, and begins in the top row."""
    edge, picture = shown("││"), shown("██")
    picture.feed(b"\x1b[H\x1b[K")
    for screen in (edge, picture):
        assert BarlessText(screen, ["│█"]).text() == screen.text()
