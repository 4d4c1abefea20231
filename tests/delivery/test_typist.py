"""The composer is cleared, and looked at, before anything is typed into it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from synapse.delivery.typist import LEFT, SEEN, Typist
from synapse.relay.wire import DONE, NEW_KEYS
from synapse.watch.screen.composer import DRAFT, EMPTY, UNKNOWN, Seen


class Terminal:
    """The agent's terminal: `shows` is what its composer shows after each clear, `refusal` the relay's."""

    def __init__(self, *shows: str, refusal: str = DONE) -> None:
        self.shows = list(shows)
        self.refusal = refusal
        self.cleared: list[str | None] = []
        self.observer: Any = SimpleNamespace(sees_composer=True)
        self.composer = Seen(DRAFT, "half a line")
        self.now = 0.0

    def inject(self, name: str, steps: object, tell: Any, *more: Any) -> None:
        self.cleared.append(more[-2])
        tell(self.refusal)

    async def pause(self, seconds: float | None) -> None:
        """The screen settles after a while."""
        self.now += seconds or 0.0
        if self.now > 0.2 and len(self.shows) >= len(self.cleared):
            self.composer = Seen(self.shows[len(self.cleared) - 1])


@pytest.mark.parametrize(
    ("shows", "outcome", "clears"),
    [([EMPTY], DONE, 1), ([UNKNOWN], DONE, 1), ([DRAFT, EMPTY], DONE, 2), ([DRAFT, DRAFT], LEFT, 2)],
)
def test_a_composer_that_still_shows_a_draft_is_cleared_once_more(
    shows: list[str], outcome: str, clears: int
) -> None:
    terminal: Any = Terminal(*shows)
    typist = Typist(terminal, terminal.pause, lambda: terminal.now)
    assert asyncio.run(typist.clear("x", "half a line")) == outcome
    assert terminal.cleared == ["half a line"] * clears and terminal.now <= 2 * SEEN + 0.1


def test_after_another_key_nothing_is_cleared() -> None:
    terminal: Any = Terminal(refusal=NEW_KEYS)
    typist = Typist(terminal, terminal.pause, lambda: terminal.now)
    assert asyncio.run(typist.clear("x", "half a line")) == NEW_KEYS
    assert len(terminal.cleared) == 1
