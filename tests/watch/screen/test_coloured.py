"""A menu in a box whose chosen option has a background, above a row that is always there."""

from __future__ import annotations

import pytest

from synapse.agents.look import Look, MenuStyle
from synapse.watch.screen.questions import InputRequiredDetector

ROWS = [
    "some reply",
    "┌──────────────────────────────┐",
    "│ Do you want to run this?     │",
    "│ touch x                      │",
    "│                              │",
    "│   1. Yes                     │",
    "│   2. No                      │",
    "│                              │",
    "│ ↑↓/jk navigate  Enter select │",
    "└──────────────────────────────┘",
    "~/work             0/200k tokens",
]
LOOK = Look(
    menus=(MenuStyle("▸", coloured=True),),
    questions=("Do you want",),
    permissions=("Do you want",),
    below_dialogs=(r".* tokens$",),
)


@pytest.mark.parametrize(("chosen", "default"), [(5, "Yes"), (6, "No")])
def test_the_background_tells_which_option_enter_takes(chosen: int, default: str) -> None:
    def shade(row: int, column: int) -> str:
        return "48;5;7" if row == chosen and column >= 2 else ""

    asked = InputRequiredDetector(look=LOOK).detect_screen(ROWS, (0, 10), False, shade)
    assert asked is not None and asked.permission
    assert (asked.options, asked.default) == (["Yes", "No"], default)
    assert asked.keys == {"Yes": "1", "No": "2"}


def test_without_a_background_it_is_no_menu() -> None:
    asked = InputRequiredDetector(look=LOOK).detect_screen(ROWS, (0, 10), False, lambda row, column: "")
    assert asked is None or asked.options != ["Yes", "No"]
