"""Text from others, made safe to print, to draw and to type."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.base.text import for_cells, for_output, for_typing

TEXT = st.text(
    st.one_of(
        st.sampled_from("ab \n\r\t\x1b[]0;31mP\\\x07\x7f\x9b\x9c\u200d\u202e\u2066\ufe0f\u3000漢"),
        st.characters(exclude_categories=()),
    )
)
CONTROLS = ("Cc", "Cs")


def kinds(text: str) -> set[str]:
    return {unicodedata.category(char) for char in text.replace("\n", "")}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;aGk=\x1b\\x", "x"),
        ("\x1bP1;2qsixel\x1b\\x", "x"),
        ("\x9b31mred", "red"),
        ("bell\x07 nul\x00 del\x7f", "bell nul del"),
        ("a\u202eb\u200dc\ufe0f", "abc"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\tb", "a   b"),
        ("\x1b", ""),
    ],
)
def test_nothing_is_left_that_a_terminal_would_act_on(raw: str, shown: str) -> None:
    assert for_cells(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[2J\x07\x7f", "a^[[2J^G^?"),
        ("a\r\nb\rc", "a\nb^Mc"),
        ("a\tb", "a    b"),
        ("\x9b31m\ud800", "\ufffd31m\ufffd"),
        ("user\u202etxt.exe\u2066", "user\ufffdtxt.exe\ufffd"),
        ("👩\u200d💻 ❤\ufe0f שלום\u200f", "👩\u200d💻 ❤\ufe0f שלום\u200f"),
    ],
)
def test_a_command_shows_what_it_does_not_print(raw: str, shown: str) -> None:
    assert for_output(raw) == shown


@pytest.mark.parametrize(
    ("raw", "typed"),
    [
        ("hello \x1b[31mred\x1b[0m\x03\x04", "hello red"),
        ("\x1b[200~a\x1b[201~\x9b2Jb", "ab"),
        ("one\r\n\ttwo\rthree\u2028", "one\n\ttwo\nthree"),
        ("👩\u200d💻 ❤\ufe0f \u202e", "👩\u200d💻 ❤\ufe0f \u202e"),
        ("a\ud800", "a?"),
    ],
)
def test_an_agent_is_typed_text_and_no_keys(raw: str, typed: str) -> None:
    assert for_typing(raw) == typed


@given(TEXT)
def test_nothing_printed_controls_the_terminal(text: str) -> None:
    shown = for_output(text)
    assert not kinds(shown) & set(CONTROLS) and not set(shown) & set("\u202a\u202d\u202e\u2066\u2067")
    assert for_output(shown) == shown


@given(TEXT, TEXT)
def test_what_was_printed_of_a_growing_text_does_not_change(text: str, more: str) -> None:
    if not text.endswith("\r"):
        assert for_output(text + more) == for_output(text) + for_output(more)


@given(TEXT)
def test_what_is_drawn_is_printable_lines(text: str) -> None:
    drawn = for_cells(text)
    assert not kinds(drawn) & {*CONTROLS, "Cf", "Co", "Cn", "Zl", "Zp"}
    assert for_cells(drawn) == drawn


@given(TEXT)
def test_what_is_typed_has_no_keys_but_tabs_and_line_ends(text: str) -> None:
    typed = for_typing(text)
    assert not kinds(typed.replace("\t", "")) & {*CONTROLS, "Zl", "Zp"}
    assert for_typing(typed) == typed
    typed.encode()
