from __future__ import annotations

import pytest

from synapse.terminal.screen import make_screen
from synapse.terminal.styles import style_of, typed_text


@pytest.mark.parametrize(
    ("sgr", "suggested"),
    [
        ("0", False),
        ("0;2", True),
        ("0;38;5;246", True),
        ("0;38;2;128;128;128", True),
        ("0;1;38;5;246", False),  # aider highlights `@name` so
        ("0;38;5;40", False),
    ],
)
def test_a_placeholder_is_faint_or_grey_and_never_bold(sgr: str, suggested: bool) -> None:
    assert style_of(sgr).suggested == suggested


def test_a_highlighted_name_was_typed() -> None:
    screen = make_screen(20, 1)
    screen.feed(b"\x1b[1;38;5;246m@b\x1b[0m hi \x1b[38;5;246mghost")
    assert typed_text(screen.rows(0, 1)[0].cells).rstrip() == "@b hi"
