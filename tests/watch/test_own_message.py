"""A message of Synapse's in the composer is no line of the human's."""

from __future__ import annotations

import pytest

from synapse.watch.own_message import OURS, OwnMessage
from synapse.watch.screen.composer import DRAFT, EMPTY, Seen

HUMAN = Seen(DRAFT, "@b hello")


@pytest.mark.parametrize("shown", ["[A2A:0123abcd:user] hello", "[Pasted text #1 +61 lines]", None])
def test_it_is_not_told_until_the_screen_shows_that_it_is_gone(shown: str | None) -> None:
    own, ours = OwnMessage(), Seen(DRAFT, shown)
    assert own.human_line(HUMAN) is HUMAN
    own.typing()
    assert own.human_line(Seen(EMPTY)) == Seen(EMPTY)
    assert own.human_line(ours) is OURS
    own.typed(done=True)
    assert own.human_line(ours) is OURS, "nobody has looked since Enter"
    assert own.human_line(HUMAN) is HUMAN
    assert own.human_line(ours) is ours, "that one is over"


def test_one_that_was_refused_was_never_there() -> None:
    own = OwnMessage()
    own.typing()
    own.typed(done=False)
    assert own.human_line(HUMAN) is HUMAN
