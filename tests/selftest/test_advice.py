"""Suggested profile fields are read from a screen, and hold on that screen."""

from __future__ import annotations

import re

import pytest

from synapse.profiles.loader import load_profile
from synapse.selftest import advice
from synapse.terminal.screen import Screen, make_screen
from tests.support.home import Home

WIDE = "─" * 40


def drawn(*rows: str, cursor: tuple[int, int] = (0, 0), hidden: bool = False) -> Screen:
    screen = make_screen(40, 10)
    column, row = cursor
    visible = "\x1b[?25l" if hidden else ""
    screen.feed(("\r\n".join(rows) + f"\x1b[{row + 1};{column + 1}H{visible}").encode())
    return screen


@pytest.mark.parametrize(
    ("screen", "rules"),
    [
        (
            drawn(WIDE, "» half a li", WIDE, "  footer", cursor=(11, 1)),
            {"first": r"»(?:\s|$)", "above": " *─{10}"},
        ),
        (drawn("an answer", "", "» half a li", cursor=(11, 2)), {"first": r"»(?:\s|$)"}),
        (
            drawn("an answer", "", " » half a li", cursor=(12, 2), hidden=True),
            {"first": r" »(?:\s|$)", "hidden_cursor": True},
        ),
    ],
)
def test_the_composer_is_where_a_typed_line_stands(screen: Screen, rules: dict[str, object]) -> None:
    assert advice.composer(screen, "half a li") == {"composer": [rules]}


def test_a_composer_that_could_not_be_read_is_not_suggested() -> None:
    elsewhere = drawn(WIDE, "» half a li", WIDE, "  footer", cursor=(0, 4))
    assert advice.composer(elsewhere, "half a li") == {}
    assert advice.composer(drawn("nothing of it"), "half a li") == {}


def test_the_mark_of_a_menu() -> None:
    asks = "run: make\nDo you want to?\n ▸ 1. Yes\n   2. No\n"
    assert advice.menu(asks) == {"menus": [{"mark": "▸"}]}
    assert advice.menu("1. first\n2. second\n") == {}


def test_the_idle_pattern_is_what_only_the_idle_screen_has() -> None:
    idle, busy = "reply\n\n» \n  ? for help\n", "reply\n\n» \n  esc stops it\n"
    pattern = advice.idle(idle, [busy])["idle_detection"]["pattern"]
    assert re.search(pattern, idle.rstrip()) and not re.search(pattern, busy.rstrip())
    assert advice.idle("» 12\n")["idle_detection"]["strategy"] == "timeout", "a number changes"


def test_a_longer_pause_before_enter(home: Home) -> None:
    home.profile("slow", "command: cat\nsubmit_delay: 1.2\n")
    with home.ours():
        assert advice.submit_delay(load_profile("slow")) == {"submit_delay": 2.4}
        assert advice.submit_delay(load_profile("dummy")) == {"submit_delay": 0.3}
