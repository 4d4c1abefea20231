"""A message is typed by what is in the composer, and while it waits it says why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from synapse.delivery.gate import HALF_TYPED, KEY_PAUSE, SHOWN_PATIENCE, TYPING, Gate, content, has_text
from synapse.watch.own_menu import OwnMenu
from synapse.watch.screen.composer import ABSENT, DIALOG, DRAFT, EMPTY, UNKNOWN, Seen
from synapse.watch.screen.questions import InputPrompt

PATIENCE = 20.0


class Desk:
    """A gate in front of a controller, some seconds after the last key."""

    def __init__(self, seen: Seen, quiet: float = 2.0, patience: float = PATIENCE) -> None:
        self.controller: Any = SimpleNamespace(
            composer=seen, draft=False, draft_text="", last_key=100.0 - quiet,
            observer=SimpleNamespace(
                is_composer_current=True, prompt=None, menu=OwnMenu(), sees_composer=True
            ),
            profile=SimpleNamespace(name="acme", channel="acme"),
        )  # fmt: skip
        controller: Any = self.controller
        self.gate = Gate(controller, patience, lambda: 100.0)

    def typed(self, text: str | None) -> Desk:
        self.controller.draft, self.controller.draft_text = True, text
        return self

    def why(self, holds_draft: bool = False) -> tuple[str, float | None]:
        why, pause = self.gate.in_the_way(holds_draft)
        return why, pause if pause is None else round(pause, 6)


@pytest.mark.parametrize("keys", ["1", "y", None])
def test_an_empty_composer_takes_a_message_whatever_keys_were_pressed(keys: str | None) -> None:
    assert Desk(Seen(EMPTY)).typed(keys).why() == ("", None)
    assert Desk(Seen(EMPTY), quiet=0.5).typed(keys).why() == (TYPING, KEY_PAUSE - 0.5)


def test_a_draft_that_is_shown_waits_five_seconds_and_any_other_the_patience() -> None:
    shown, hidden = Seen(DRAFT, "half"), Seen(DRAFT, None)
    assert Desk(shown).why() == (HALF_TYPED, SHOWN_PATIENCE - 2.0)
    assert Desk(shown, quiet=SHOWN_PATIENCE).why() == ("", None)
    assert Desk(hidden, quiet=SHOWN_PATIENCE).typed("half").why() == (HALF_TYPED, PATIENCE - SHOWN_PATIENCE)
    assert Desk(hidden, quiet=PATIENCE).typed("half").why() == ("", None)
    assert Desk(shown, quiet=3.0, patience=3.0).why() == ("", None)


def test_a_draft_stays_if_it_is_unknown_or_may_not_move_or_another_is_out() -> None:
    why, pause = Desk(Seen(DRAFT, None, "a pasted text"), quiet=1000).typed(None).why()
    assert why.startswith(HALF_TYPED) and "a pasted text" in why and pause is None
    assert Desk(Seen(DRAFT, "half"), quiet=1000, patience=0).why() == (HALF_TYPED, None)
    assert Desk(Seen(DRAFT, "half"), quiet=1000).why(holds_draft=True) == (HALF_TYPED, None)


@pytest.mark.parametrize("state", [DIALOG, ABSENT])
def test_without_a_composer_it_waits_and_says_what_was_seen(state: str) -> None:
    why, pause = Desk(Seen(state, why="what was seen"), quiet=1000).why()
    assert "what was seen" in why and pause is None


def test_a_question_is_told_once_and_a_menu_as_one() -> None:
    desk = Desk(Seen(DIALOG, why="it asks: 'Go?'"), quiet=1000)
    desk.controller.observer.prompt = InputPrompt("Go?", "confirmation")
    assert desk.why() == ("the agent asks something: Go?", None)
    desk.controller.observer.menu.take_up()
    assert desk.why() == ("a menu is open at its terminal: Go?", None)


def test_unknown_counts_as_empty_without_keys_and_else_as_the_keys_say() -> None:
    unknown = Seen(UNKNOWN, why="no rules")
    assert Desk(unknown).why() == ("", None)
    assert Desk(unknown, quiet=5.0).typed("half").why() == (HALF_TYPED, PATIENCE - 5.0)
    why, pause = Desk(unknown, quiet=1000).typed(None).why()
    assert "no rules" in why and pause is None


def test_a_screen_that_was_not_looked_at_since_the_last_output_does_not_count() -> None:
    desk = Desk(Seen(EMPTY)).typed("half")
    desk.controller.observer.is_composer_current = False
    assert content(desk.controller).state == DRAFT


@pytest.mark.parametrize(
    ("typed", "shown", "text"),
    [("a  b ", "a b", "a  b "), ("1", "half", "half"), (None, "half", "half"), ("all", None, "all")],
)
def test_the_text_of_a_draft_is_what_is_shown_with_the_white_space_that_was_typed(
    typed: str | None, shown: str | None, text: str
) -> None:
    assert content(Desk(Seen(DRAFT, shown)).typed(typed).controller).text == text


@pytest.mark.parametrize(
    ("draft", "expected"),
    [("\x1b", False), ("\x1b[A\x1bOB\t \x0c", False), ("\x1ba", True), ("日本", True), ("", False)],
)
def test_keys_that_the_kernel_put_into_the_line_are_no_text(draft: str, expected: bool) -> None:
    assert has_text(draft) is expected
