"""A message of Synapse's in the composer: the relay must not take it for a line of the human."""

from dataclasses import dataclass

from synapse.agents.base import mark_in
from synapse.watch.screen.composer import DRAFT, UNKNOWN, Seen

OURS = Seen(UNKNOWN, why="a message for the agent is in its composer")


@dataclass
class OwnMessage:
    _is_here: bool = False  # from the first key of the message until the screen shows that it is gone
    _is_typed: bool = False
    _shown: str | None = None  # how the composer shows it: a long one only as a placeholder

    def typing(self) -> None:
        self._is_here, self._is_typed, self._shown = True, False, None

    def typed(self, done: bool) -> None:
        """`done`: otherwise the relay has refused it."""
        self._is_here, self._is_typed = done, done

    def human_line(self, seen: Seen) -> Seen:
        """What the composer holds of the human, if it shows `seen`."""
        if not self._is_here:
            return seen
        if seen.state == DRAFT and not self._is_typed:
            self._shown = seen.text
            return OURS
        if seen.state == DRAFT and (mark_in(seen.text) or seen.text == self._shown):
            return OURS  # it has not been looked at since, or Enter got lost
        self._is_here = not self._is_typed
        return seen
