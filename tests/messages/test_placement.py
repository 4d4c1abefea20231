"""Where the agent's rows are, as the terminal's cursor tells it."""

from __future__ import annotations

import pytest

from synapse.messages.placement import Placement
from synapse.terminal.screen import make_screen

COMPOSER = "────\r\n❯ \r\n────\r\n  ? for shortcuts\x1b[2A\r\x1b[2C"


@pytest.mark.parametrize("row", [3, 4, 5])
def test_a_narrower_terminal_may_have_scrolled_what_the_model_still_has(row: int) -> None:
    screen = make_screen(80, 24)
    placement = Placement(screen, young=False, placed=True)
    screen.feed(b"dummy\r\n  an agent with no model behind it; /exit quits\r\n\r\n" + COMPOSER.encode())
    placement.resized()
    screen.resize(40, 20)
    assert screen.cursor == (2, 5) and not placement.is_known
    assert placement.place(row, 2), "the cursor is where the terminal has it"
    assert screen.cursor == (2, row) and screen.text().split("\n")[row].startswith("❯")
    (_, rows), above = placement.free()
    assert above == (0 if row == 5 else row + 1) and above + rows == 20, "below the cursor all is known"
    assert "dummy" in screen.contents(), "nothing is lost for the reply that is read from it"


def test_a_cursor_in_another_column_tells_nothing() -> None:
    screen = make_screen(80, 24)
    placement = Placement(screen, young=False, placed=True)
    screen.feed(COMPOSER.encode())
    placement.resized()
    screen.resize(40, 20)
    assert not placement.place(0, 7) and not placement.is_known
