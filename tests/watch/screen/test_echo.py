"""The echo of a message, found by its mark."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from synapse.agents.base import mark_in
from synapse.watch.screen.echo import Echo, find_echo

MARK = "[A2A:1234abcd:claude]"
words = st.lists(st.text("abcde日本é|", min_size=1, max_size=12), min_size=1, max_size=30)


@given(words, st.integers(30, 80), st.integers(0, 12), st.sampled_from(["", "> ", "┃  ", "❯ "]))
def test_a_message_is_found_however_it_is_wrapped(
    said: list[str], width: int, indent: int, lead: str
) -> None:
    message = f"{MARK} {' '.join(said)}"
    rows = [" " * indent + lead + row for row in textwrap.wrap(message, width)]
    screen = ["a banner", "[A2A:ffffffff:claude] another", *rows, "", "the answer"]
    assert find_echo(screen, message, ignored=">┃❯") == Echo(2, 2 + len(rows), True, " " * indent + lead)


def test_a_message_that_is_cut_off_is_not_whole() -> None:
    screen = [f"> {MARK} the first line … +61 lines", "", "the answer"]
    assert find_echo(screen, f"{MARK} the first line and many more", ignored=">") == Echo(0, 1, False, "> ")


def test_only_a_marked_prompt_has_one() -> None:
    assert mark_in(f" {MARK} x") == MARK and not any(map(mark_in, ("x", None, "[A2A: x]")))
    assert find_echo(["hello"], "hello") is None
    assert find_echo(["hello"], f"{MARK} hello") is None


def test_the_row_to_begin_at_is_a_hint() -> None:
    screen = [f"{MARK} go", "", f"{MARK} go"]
    assert find_echo(screen, f"{MARK} go", start=1) == Echo(2, 3, True, "")
    assert find_echo(screen[:2], f"{MARK} go", start=2) == Echo(0, 1, True, "")
