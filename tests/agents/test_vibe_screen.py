"""Mistral Vibe on narrow screens, as version 3.0.2 draws its dialogs there."""

from __future__ import annotations

import pytest

from synapse.agents.requests import ToolRequest
from synapse.profiles.loader import load_profile
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.menus import InputPrompt
from synapse.watch.screen.questions import InputRequiredDetector, explained

LOOK = look_of(load_profile("vibe"))
COMMAND = "touch synapse-was-here && echo touched"
TITLE = "Permission for the file_system.bash tool (touch *)"
ALLOW = ["Allow once", "Allow for remainder of this session", "Always allow", "Deny"]
DRAWN = {  # the columns of the screen, and the rows above the options
    120: [TITLE, COMMAND],
    50: ["Permission for the file_system.bash tool", "(touch *)", COMMAND],
    42: ["Permission for the file_system.bash", "tool (touch *)", COMMAND],
    40: [
        "Permission for the file_system.bash",
        "tool (touch *)",
        "touch synapse-was-here && echo",
        "touched",
    ],
    36: [
        "Permission for the",
        "file_system.bash tool (touch *)",
        "touch synapse-was-here && echo",
        "touched",
    ],
    34: [
        "Permission for the",
        "file_system.bash tool (touch",
        "*)",
        "touch synapse-was-here && echo",
        "touched",
    ],
    30: [
        "Permission for the",
        "file_system.bash tool",
        "(touch *)",
        "touch synapse-was-here &&",
        "echo touched",
    ],
}


def asked(columns: int, *rows: str) -> InputPrompt | None:
    """Rows are cut at the edge of the box, the options too."""
    room = columns - 4
    inside = [f"│ {row[:room]:<{room}} │" for row in rows]
    edges = ("┌" + "─" * (columns - 2) + "┐", "└" + "─" * (columns - 2) + "┘")
    footer = f"{'~/work' if columns > 32 else ''} [PID 14418] 17/200k tokens (0%)"[:columns]
    lines = ["  I will touch a file.", "", edges[0], *inside, edges[1], footer]
    marked = next(n for n, line in enumerate(lines) if "  1. " in line)
    return InputRequiredDetector(look=LOOK).detect_screen(
        lines, (0, 10), False, lambda row, column: "48;5;7" if row == marked and column > 1 else ""
    )


def dialog(columns: int, *rows: str) -> InputPrompt | None:
    options = [f"  {number}. {label}" for number, label in enumerate(ALLOW, 1)]
    return asked(columns, *rows, "", *options, "", "↑↓/jk navigate  Enter select  Esc reject")


@pytest.mark.parametrize("columns", DRAWN)
def test_a_permission_prompt_at_any_width(columns: int) -> None:
    prompt = dialog(columns, *DRAWN[columns])
    assert prompt is not None and prompt.permission and not prompt.unseen
    assert (prompt.question, prompt.subject, prompt.options) == (TITLE, COMMAND, ALLOW)
    assert " ".join((prompt.detail or "").split("\n")) == COMMAND
    assert prompt.keys == dict(zip(ALLOW, "1234", strict=True))


@pytest.mark.parametrize("columns", DRAWN)
def test_the_request_of_its_journal_is_found_by_what_the_dialog_shows(columns: int) -> None:
    others = [ToolRequest("ls notes", "ls notes"), ToolRequest("echo other", "echo other")]
    prompt = explained(dialog(columns, *DRAWN[columns]), [*others, ToolRequest(COMMAND, COMMAND)])
    assert prompt is not None and (prompt.subject, prompt.detail) == (COMMAND, COMMAND)


def test_lines_of_a_command_are_not_taken_for_one_that_is_wrapped() -> None:
    prompt = dialog(80, TITLE, "touch a", "echo touched")
    assert prompt is not None and prompt.subject == "touch a … (2 lines)"


def test_an_option_that_is_wrapped() -> None:
    options = ["  1. Red - as Red", "  2. Blue - as Blue", "  3. Green - as", "Green", "  4. Other"]
    prompt = asked(24, "Which colour?", "", *options, "", "↑↓/jk navigate  Ente")
    assert prompt is not None and not prompt.unseen
    assert prompt.options == ["Red - as Red", "Blue - as Blue", "Green - as Green", "Other"]


def test_an_option_that_is_cut() -> None:
    options = ["  1. Red - as Red", "  2. Blue - as Blue", "  3. Type your answer..."]
    prompt = asked(24, "Which colour?", "", *options, "", "↑↓/jk navigate  Ente")
    assert prompt is not None and prompt.options == ["Red - as Red", "Blue - as Blue", "Type your answe"]
    assert prompt.unseen.startswith("the screen does not show all of its answers")
