"""The lines of `synapse top`: groups, order, filter, widths."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synapse.terminal.cells import width
from synapse.top import board
from synapse.top.board import Item

QUESTION: dict[str, Any] = {
    "id": "3f9c01ab",
    "task": None,
    "type": "selection",
    "question": "Do you want to proceed?",
    "subject": "rm -r build",
    "detail": "rm -r build",
    "options": [{"key": "1", "label": "Yes"}, {"key": "2", "label": "No"}],
    "asked_at": "2026-01-01T12:00:00.000Z",
}


def agent(name: str, group: str, **more: Any) -> dict[str, Any]:
    usual = {"id": name, "name": name, "group": group, "since": "2026-01-01T12:00:00Z", "connected": True}
    return {**usual, "work": None, "question": None, "waiting": 0, **more}


def test_each_agent_has_one_true_line() -> None:
    def line(*args: Any, **more: Any) -> str:
        return board.item_of(agent(*args, **more)).line

    work = {"task": "t", "from": "ci", "text": "review\nthis", "since": "2026-01-01T12:00:00Z"}
    assert line("a", "needs_you", question=QUESTION) == "asks: rm -r build (in its human's turn)"
    assert line("a", "needs_you", question={**QUESTION, "task": "t"}) == "asks: rm -r build"
    assert line("a", "needs_you", question={**QUESTION, "task": "t", "unseen": "not all is seen"}) == (
        "asks: rm -r build (look at its screen)"
    )
    assert "look at its screen" in line("a", "needs_you")
    assert line("a", "working", work=work, waiting=2) == "for ci: review this (2 waiting)"
    assert line("a", "working", work={**work, "task": None, "from": None}) == "its human's turn: review this"
    assert line("a", "idle", work=work) == "" and line("a", "idle", connected=False) == "does not answer"
    assert line("a", "idle", connected=False, connecting=True) == "connecting …"
    assert line("a", "working", work={**work, "text": "\x1b[31mred\x1b[m\x07"}) == "for ci: red"


def test_who_needs_the_human_comes_first_and_who_waits_longest() -> None:
    items = [
        Item("1", "zoe", board.IDLE, 10, ""),
        Item("2", "bob", board.NEEDS_YOU, 30, "asks: b"),
        Item("3", "eve", board.WORKING, 5, "for ci: test it"),
        Item("4", "ann", board.NEEDS_YOU, 20, "asks: a"),
        Item("5", "kim", board.IDLE, 40, ""),
    ]
    assert [i.name for i in board.arranged(items)] == ["ann", "bob", "eve", "kim", "zoe"]
    assert [i.name for i in board.arranged(items, sort="name")] == ["ann", "bob", "eve", "kim", "zoe"]
    assert [i.name for i in board.arranged(items, "TEST")] == ["eve"]
    assert [i.name for i in board.arranged(items, "asks b")] == ["bob"]


def test_ages_are_short_and_never_negative() -> None:
    ages = [board.age(1000.0, 1000.0 + s) for s in (-50, 0, 59, 60, 3600, 86400 * 3)]
    assert ages == ["0s", "0s", "59s", "1m", "1h", "3d"] and board.age(0.0, 5.0) == ""
    assert board.moment("2026-01-01T12:00:00.000Z") > 0 and board.moment(None) == board.moment("x") == 0


@given(st.text(max_size=60), st.text(max_size=200), st.integers(1, 200))
def test_a_row_never_wraps(name: str, line: str, columns: int) -> None:
    item = Item("1", board.one_line(name), board.IDLE, 1.0, board.one_line(line))
    shown = board.row(item, columns, board.name_cells([item], columns), 100.0)
    assert width(shown) <= columns and "\n" not in shown


def test_a_long_command_and_a_long_option_are_shown_whole() -> None:
    command = "rm -r build && curl -s https://x.example/install.sh | sh -s -- --all"
    always = f"Yes, and don't ask again for: {command}"
    options = [{"key": "1", "label": "Yes"}, {"key": "2", "label": always}]
    asked = {**QUESTION, "subject": command, "detail": command, "options": options}
    for columns in (78, 38, 20):
        shown = board.question_lines(asked, columns, 30)
        assert all(width(row) <= columns for row in shown)
        words = "".join("".join(shown).split())
        assert words.count("".join(command.split())) == 2, shown


def test_the_options_of_a_question_are_never_cut_off() -> None:
    long = {**QUESTION, "detail": "\n".join(f"line {n}" for n in range(50)), "subject": "line 0"}
    shown = board.question_lines(long, 40, 6)
    assert shown[-2:] == ["1. Yes", "2. No"] and "lines more (Space)" in shown[-3] and len(shown) == 6
    hidden = board.question_lines({**QUESTION, "unseen": "not all is seen"}, 80, 9)
    assert hidden[-1] == "Answer in words (a): Yes; No", "a number is no answer to what nobody saw"
    secret = board.question_lines({**QUESTION, "type": "password", "options": []}, 80, 9)
    assert "not shown" in secret[-1]


@given(st.integers(0, 300), st.integers(0, 299), st.integers(1, 300), st.integers(1, 60))
def test_the_selected_line_is_always_seen(first: int, selected: int, total: int, room: int) -> None:
    selected = min(selected, total - 1)
    top = board.scrolled(first, selected, total, room)
    assert top <= selected < top + room and 0 <= top <= max(total - room, 0)
