"""Whether what the screen asks is a menu that the human has opened: `/model`, `/theme`, a list of sessions.

The agent asks nothing then, and whoever opened the menu is at it. It is one only if all of this shows it: the
agent was READY, no turn has begun, yes would run nothing, and a key was pressed right before it appeared.
Otherwise it is a question: to miss one is worse than to show one too many.
"""

from dataclasses import dataclass

from synapse.watch.screen.questions import InputPrompt

OPENS_WITHIN = 5.0  # seconds after the last key: a list of sessions is read from the disk first


@dataclass
class OwnMenu:
    """`is_open`: the menu of a human is on the screen."""

    is_open: bool = False
    _asks: bool = False  # something is asked since the last look

    def look(self, prompt: InputPrompt | None, opened: bool, in_turn: bool) -> None:
        """The screen has settled. `opened`: a human can have opened what it shows."""
        if prompt is None:
            self.is_open = self._asks = False
            return
        may_be = opened if not self._asks else self.is_open  # one menu may open the next
        self.is_open = may_be and not prompt.permission and not in_turn
        self._asks = True

    def take_up(self) -> None:
        """An earlier host has seen how it was opened."""
        self.is_open = self._asks = True
