"""A message that was submitted, until the screen shows what became of it."""

from __future__ import annotations

import pytest

from synapse.watch.screen.composer import DRAFT, EMPTY, UNKNOWN, Seen
from synapse.watch.sent import AT_MOST, SentMessage

TEXT = "please review the last commit, and be quick"


def sent(text: str | None = TEXT, prompt: str | None = None) -> SentMessage:
    message = SentMessage()
    message.submitted(Seen(DRAFT, text), prompt, 10.0)
    return message


def look(message: SentMessage, composer: Seen, screen: str, scrolled: str = "") -> None:
    message.look(composer, screen, lambda: scrolled + screen)


def test_it_is_waited_for_until_it_is_in_the_conversation() -> None:
    message = sent()
    assert message.left(11.0) == pytest.approx(AT_MOST - 1)
    look(message, Seen(EMPTY), "Ask anything")
    assert message.left(11.0) is not None
    look(message, Seen(EMPTY), "┃ please review the\n┃ last commit, and be quick\n")
    assert message.left(11.0) is None


def test_not_for_ever_and_not_if_it_is_at_work() -> None:
    assert sent().left(10.0 + AT_MOST) is None
    message = sent()
    message.forget()
    assert message.left(10.0) is None


def test_a_message_that_is_still_in_the_composer_was_not_sent() -> None:
    message = sent()
    look(message, Seen(DRAFT, f"{TEXT}\n"), f"> {TEXT}")
    assert message.left(10.0) is None


@pytest.mark.parametrize(
    "composer", [Seen(EMPTY), Seen(UNKNOWN, TEXT), Seen(DRAFT), Seen(DRAFT, "/help"), Seen(DRAFT, "!ls")]
)
def test_only_a_message_that_was_seen_and_is_no_command_counts(composer: Seen) -> None:
    message = SentMessage()
    assert not message.submitted(composer, None, 10.0) and message.left(10.0) is None


def test_a_pasted_message_is_found_by_its_mark() -> None:
    message = sent("[Pasted ~60 lines]", "[A2A:0123abcd:user] line 1\nline 2")
    look(message, Seen(EMPTY), "  > [A2A:0123abcd:user] line 1")
    assert message.left(10.0) is None


@pytest.mark.parametrize(("mark", "found"), [("[A2A:0123abcd:user] ", True), ("", False)])
def test_a_message_that_a_long_reply_has_moved_off_the_screen(mark: str, found: bool) -> None:
    """By its mark: what a human has typed may stand above it from an earlier time."""
    message = sent(mark + TEXT, mark + TEXT)
    look(message, Seen(EMPTY), "line 199\nline 200\n> ", f"> {mark}{TEXT}\nline 1\n")
    assert (message.left(10.0) is None) is found
