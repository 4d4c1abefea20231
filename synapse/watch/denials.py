"""Whether the human has denied what an agent asked for, and how that is known."""

from synapse.agents.base import SCREEN, TRANSCRIPT
from synapse.watch.turns import Turn

AT_ONCE = 2.0  # seconds after a permission prompt has left the screen in which a stopped turn was denied
ANSWER, DEDUCED = "answer", "deduced"
EVIDENCE = {
    ANSWER: "the answer was no",
    TRANSCRIPT: "the agent's own record says so",
    SCREEN: "the agent's screen says so",
    DEDUCED: "deduced: the turn stopped while it was asked, or right after",
}


def told(turn: Turn, denied: bool) -> None:
    """The CLI's own record says why the turn was stopped."""
    if not denied:
        turn.denied = None
    elif turn.denied is None:
        turn.denied = turn.asked
    turn.denied_by = TRANSCRIPT


def deduce(turn: Turn, asks: bool, since_asked: float) -> None:
    """The turn has stopped, and nothing says why. `asks`: a permission prompt is on the screen."""
    if turn.denied is None and turn.asked and not turn.permitted and (asks or since_asked < AT_ONCE):
        turn.denied, turn.denied_by = turn.asked, DEDUCED


def shown(turn: Turn, denied: bool | None) -> None:
    """What the screen says once it has settled; None if it says nothing."""
    if denied is None or turn.denied_by not in ("", DEDUCED):
        return
    turn.denied, turn.denied_by = (turn.asked if denied else None), SCREEN
