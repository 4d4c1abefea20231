"""CLIs in a terminal whose user has set NO_COLOR: Gemini draws other rules, Vibe shows no chosen option."""

from __future__ import annotations

import pytest

from synapse.agents.base import Channel, Surroundings
from synapse.profiles.loader import load_profile
from synapse.terminal.screen import make_screen
from synapse.watch.screen.composer import DRAFT, EMPTY
from synapse.watch.screen.reader import ScreenReader

RULE = "─" * 80
ASKS = [
    "┌" + "─" * 78 + "┐",
    *(
        f"│ {text:76} │"
        for text in (
            "Permission for the file_system.bash tool (touch *)",
            "touch synapse-was-here && echo touched",
            "",
            "  1. Allow once",
            "  2. Allow for remainder of this session",
            "  3. Always allow",
            "  4. Deny",
            "",
            "↑↓/jk navigate  Enter select  Esc reject",
        )
    ),
    "└" + "─" * 78 + "┘",
    "~/work [PID 27407]                                            0% of 200k tokens",
]


def reader(name: str, text: str, **env: str) -> ScreenReader:
    screen = make_screen(80, 24)
    screen.feed(text.encode())
    return ScreenReader(load_profile(name), screen, Channel(Surroundings("/", env, 0.0)))


@pytest.mark.parametrize(
    ("row", "cursor", "state", "text"),
    [
        (" > \x1b[7m \x1b[m Type your message or @path/to/file", 4, EMPTY, None),
        (" > half a li\x1b[7m \x1b[m", 13, DRAFT, "half a li"),
    ],
)
def test_the_composer_of_gemini(row: str, cursor: int, state: str, text: str | None) -> None:
    drawn = f"hello\r\n{RULE} Shift+Tab to accept edits\r\n{RULE}{row}\r\n{RULE} workspace\r\n ~/work"
    seen = reader("gemini", f"{drawn}\x1b[5;{cursor}H\x1b[?25l", NO_COLOR="1").composer()
    assert (seen.state, seen.text) == (state, text)


def test_the_question_of_vibe() -> None:
    text = "\r\n".join(ASKS) + "\x1b[?25l"
    asked = reader("vibe", text, NO_COLOR="1").question()
    assert (
        asked is not None and asked.permission and asked.subject == "touch synapse-was-here && echo touched"
    )
    assert asked.options == ["Allow once", "Allow for remainder of this session", "Always allow", "Deny"]
    assert asked.keys is not None and list(asked.keys.values()) == ["1", "2", "3", "4"]
    assert reader("vibe", text).question() is None, "a picture of it in a terminal with colours"
