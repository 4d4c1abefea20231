"""Questions as a human reads them, whatever an agent has written into them."""

from __future__ import annotations

from typing import Any

import pytest

from synapse.peers.prompts import chosen, plain_question, question, subject, takes_nothing

OBJECTS = [{"label": "Yes, once", "value": "once"}, {"id": 7}, {"strange": []}, 3]


@pytest.mark.parametrize(
    "prompt, shown",
    [
        ({}, ""),
        ({"prompt": "name?", "options": None}, "name?"),
        ({"prompt": "x", "question": "Which?", "options": ["one", "two"]}, "Which?\n1. one\n2. two"),
        ({"prompt": "Which?", "options": OBJECTS}, "Which?\n1. Yes, once\n2. 7\n3. ?\n4. 3"),
        ({"prompt": ["no", "text"], "options": "abc"}, "['no', 'text']"),
        ({"prompt": "x", "options": 5}, "x"),
    ],
)
def test_what_is_shown(prompt: dict[str, Any], shown: str) -> None:
    assert question(prompt) == shown


@pytest.mark.parametrize(
    "prompt, yes",
    [
        ({"type": "text"}, True),
        ({}, True),
        ({"type": "confirmation"}, True),  # press Enter to continue
        ({"type": "confirmation", "options": ["y", "n"]}, False),
        ({"type": "confirmation", "options": ["Y", "n"], "default": "Y"}, True),
        ({"type": "confirmation", "options": ["Yes", "No"], "default": "Yes", "keys": {"Yes": "1"}}, False),
        ({"type": "text", "options": ["y", "n"]}, False),
        ({"type": "selection"}, False),
        ({"type": "password"}, False),
    ],
)
def test_whether_enter_alone_is_an_answer(prompt: dict[str, Any], yes: bool) -> None:
    assert takes_nothing(prompt) is yes


@pytest.mark.parametrize(
    "options, typed, sent",
    [
        (["Yes", "No"], "2", "No"),
        (["Yes", "No"], " 1 ", "Yes"),
        (["Yes", "No"], "3", "3"),
        (["Yes", "No"], "no", "no"),
        (["Yes", "No"], "²", "²"),
        (["2", "1"], "2", "2"),  # it offers numbers itself
        (OBJECTS, "1", "once"),
        (OBJECTS, "Yes, once", "once"),
        (None, "2", "2"),
        ("ab", "1", "1"),
    ],
)
def test_the_number_of_an_option_means_the_option(options: Any, typed: str, sent: str) -> None:
    assert chosen({"options": options}, typed) == sent


ABOUT = {"prompt": "Proceed?\nrm `x`", "question": "Proceed?", "options": ["Yes", "No"]}


def test_what_would_be_run_is_shown_with_the_question() -> None:
    prompt = {**ABOUT, "subject": "rm `x`", "detail": "rm `x`\n\n*Remove* x"}
    assert question(prompt) == "Proceed?\n```\nrm `x`\n\n*Remove* x\n```\n1. Yes\n2. No"
    assert plain_question(prompt) == "Proceed?\n  rm `x`\n  \n  *Remove* x\n1. Yes\n2. No"
    assert subject(prompt) == "rm `x`"
    assert "rm `x`\nwith all in it" in question({**prompt, "detail": "with all in it"})
    assert question({**prompt, "detail": "rm `x`; echo '```'"}).count("````") == 2


def test_what_nobody_has_seen_is_not_answered_by_a_number() -> None:
    prompt = {**ABOUT, "unseen": "the screen does not show what it would run"}
    assert (
        question(prompt) == "Proceed?\nthe screen does not show what it would run\nAnswer in words: Yes; No"
    )
    assert subject(prompt) == "the screen does not show what it would run"
