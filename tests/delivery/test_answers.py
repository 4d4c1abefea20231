"""Enter alone as an answer: where it is one, it is typed; where something is to be chosen, it is refused."""

from __future__ import annotations

import pytest

from synapse.delivery.answers import answer_keys, denies
from synapse.tasks.task import BadMessage
from synapse.watch.screen.questions import InputPrompt


@pytest.mark.parametrize(
    "prompt",
    [
        InputPrompt("ok? [Enter]", "confirmation"),
        InputPrompt("Enter a name:", "text"),
        InputPrompt("Go on? [Y/n]", "confirmation", ["Y", "n"], "Y"),
    ],
)
def test_enter_alone(prompt: InputPrompt) -> None:
    assert answer_keys(prompt, "", b"\r", 0.1) == [(0.0, b"\r")]


@pytest.mark.parametrize(
    "prompt",
    [
        InputPrompt("Go on? (y/n)", "confirmation", ["y", "n"]),
        InputPrompt("Select [1/2]:", "selection", ["1", "2"]),
        InputPrompt("Run it?", "confirmation", ["Yes", "No"], "Yes", keys={"Yes": "1", "No": "Escape"}),
    ],
)
def test_nothing_is_no_choice(prompt: InputPrompt) -> None:
    with pytest.raises(BadMessage, match="none of the answers"):
        answer_keys(prompt, "", b"\r", 0.1)


@pytest.mark.parametrize(
    ("said", "no"), [("2", True), ("No", True), ("n", True), ("1", False), ("yes", False), ("Escape", True)]
)
def test_an_answer_that_denies(said: str, no: bool) -> None:
    keys = {"Yes, proceed": "y", "No, and tell it what to do differently": "Escape"}
    prompt = InputPrompt("Run it?", "selection", list(keys), keys=keys, permission=True)
    assert denies(prompt, said) is no


@pytest.mark.parametrize(
    ("said", "pressed"),
    [
        ("b, c", "1 2 3 Down Enter"),  # the row below the options is one down from the last
        ("a", "Down Down Enter"),  # it is checked already
        ("2", "1 2 Down Down Enter"),
        ("a, b", "2 Down Down Enter"),
    ],
)
def test_of_several_answers_only_those_are_checked_that_were_given(said: str, pressed: str) -> None:
    keys = {"a": "1", "b": "2", "c": "3"}
    prompt = InputPrompt(
        "Which?", "selection", list(keys), "b", keys=keys, chosen=["a"], finish="below", question="Which?"
    )
    named = {"Down": b"\x1b[B", "Enter": b"\r"}
    found = [key for _, key in answer_keys(prompt, said, b"\r", 0.1)]
    assert found == [named.get(key, key.encode()) for key in pressed.split()]
    assert "separate them by commas" in prompt.text and prompt.to_a2a_format()["chosen"] == ["a"]
    for bad in ("", "a, x", "x"):
        with pytest.raises(BadMessage, match="none of the answers"):
            answer_keys(prompt, bad, b"\r", 0.1)
