"""A message that was just submitted, as long as the screen does not show what became of it.

On a busy machine a CLI reads Enter seconds later. Until then it looks idle, with the message in its composer;
then the composer is empty, and the message is nowhere for a moment.
"""

from collections.abc import Callable

from synapse.agents.base import mark_in
from synapse.watch.screen.composer import DRAFT, Seen
from synapse.watch.screen.echo import squash
from synapse.watch.screen.reply import FRAME

AT_MOST = 8.0  # seconds from Enter until the screen is believed again
WHY = "Enter was pressed, and the screen does not show the message yet"
_ENOUGH = 40  # characters of the message, by which it is found
_COMMANDS = ("/", "!")  # they leave no message on the screen


class SentMessage:
    def __init__(self) -> None:
        self._text = ""
        self._is_marked = False  # the text stands nowhere else
        self._at = 0.0

    def submitted(self, composer: Seen, prompt: str | None, now: float) -> bool:
        """Whether Enter has sent a message: only one that was seen in the composer counts."""
        typed = (composer.text or "") if composer.state == DRAFT else ""
        mark = mark_in(prompt)
        known, self._is_marked = mark or typed, bool(mark)
        self._text = "" if typed.startswith(_COMMANDS) or not typed else squash(known, FRAME)[:_ENOUGH]
        self._at = now
        return bool(self._text)

    def look(self, composer: Seen, screen: str, scrolled: Callable[[], str]) -> None:
        """What the screen shows after output that came since Enter. `scrolled` returns that and what has
        scrolled away: a long reply may come before the first look."""
        if not self._text:
            return
        if composer.state == DRAFT or self._is_in(screen) or (self._is_marked and self._is_in(scrolled())):
            self._text = ""  # it was not sent, or the message is in the conversation

    def _is_in(self, text: str) -> bool:
        return self._text in squash(text, FRAME)

    def forget(self) -> None:
        """The agent was seen at work, or asks something."""
        self._text = ""

    def left(self, now: float) -> float | None:
        """Seconds for which it is still waited for; None if it is not."""
        if self._text and now - self._at >= AT_MOST:
            self._text = ""
        return self._at + AT_MOST - now if self._text else None
