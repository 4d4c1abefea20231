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
    ("screen", "empty", "rules"),
    [
        (
            drawn(WIDE, "» half a li", WIDE, "  footer", cursor=(11, 1)),
            drawn(WIDE, "» ", WIDE, "  footer", cursor=(2, 1)),
            {"first": r"»(?:\s|$)", "above": " *─{10}"},
        ),
        (
            drawn("an answer", "", "» half a li", cursor=(11, 2)),
            drawn("an answer", "", "» \x1b[2mwrite here\x1b[m", cursor=(2, 2)),
            {"first": r"»(?:\s|$)"},
        ),
        (
            drawn("an answer", "", " » half a li", cursor=(12, 2), hidden=True),
            drawn("an answer", "", " » ", cursor=(3, 2), hidden=True),
            {"first": r" »(?:\s|$)", "hidden_cursor": True},
        ),
        (  # a placeholder that looks as if it was typed
            drawn(WIDE, "» half a li", WIDE, cursor=(11, 1)),
            drawn(WIDE, "»  Your message, or @file", WIDE, cursor=(2, 1)),
            {"first": r"»(?:\s|$)", "above": " *─{10}", "hint": re.escape("Your message, or @file")},
        ),
    ],
)
def test_the_composer_is_where_a_typed_line_stands(
    screen: Screen, empty: Screen, rules: dict[str, object]
) -> None:
    assert advice.composer(screen, "half a li", empty) == {"composer": [rules]}


def test_a_composer_that_could_not_be_read_is_not_suggested() -> None:
    empty = drawn(WIDE, "» ", WIDE, "  footer", cursor=(2, 1))
    elsewhere = drawn(WIDE, "» half a li", WIDE, "  footer", cursor=(0, 4))
    assert advice.composer(elsewhere, "half a li", empty) == {}
    assert advice.composer(drawn("nothing of it"), "half a li", empty) == {}


def test_a_composer_that_would_never_be_empty_is_not_suggested() -> None:
    full = drawn(WIDE, "» half a li", WIDE, cursor=(11, 1))
    assert advice.composer(full, "half a li", drawn(WIDE, "» 12 tokens", WIDE, cursor=(11, 1))) == {}


def test_the_mark_of_a_menu(home: Home) -> None:
    """Of one that the profile does not know; those that it knows are kept, with what they say."""
    home.profile("bare", "command: cat\n")
    home.profile("styled", 'command: cat\nmenus: [{mark: "●", subject: "run: (.+)"}]\n')
    with home.ours():
        bare, styled = load_profile("bare"), load_profile("styled")
    asks = "run: make\nDo you want to?\n ▸ 1. Yes\n   2. No\n"
    assert advice.menu(asks, bare) == {"menus": [{"mark": "▸"}]}
    assert advice.menu(asks, styled) == {"menus": [{"mark": "●", "subject": "run: (.+)"}, {"mark": "▸"}]}
    assert advice.menu(asks.replace("▸", "●"), styled) == {}
    assert advice.menu("1. first\n2. second\n", bare) == {}


def test_the_idle_pattern_is_what_only_the_idle_screen_has() -> None:
    idle, busy = "reply\n\n» \n  ? for help\n", "reply\n\n» \n  esc stops it\n"
    pattern = advice.idle(idle, [busy])["idle_detection"]["pattern"]
    assert re.search(pattern, idle.rstrip()) and not re.search(pattern, busy.rstrip())
    assert advice.idle("» 12\n")["idle_detection"]["strategy"] == "timeout", "a number changes"
    assert advice.idle("/tmp/synd-abc/work\n")["idle_detection"]["strategy"] == "timeout", "of this trial"


def test_a_longer_pause_before_enter(home: Home) -> None:
    home.profile("slow", "command: cat\nsubmit_delay: 1.2\n")
    with home.ours():
        assert advice.submit_delay(load_profile("slow")) == {"submit_delay": 2.4}
        assert advice.submit_delay(load_profile("dummy")) == {"submit_delay": 0.3}
