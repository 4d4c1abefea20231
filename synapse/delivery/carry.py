"""One task on its way to the agent and back: what is known of it so far."""

from __future__ import annotations

from dataclasses import dataclass

from synapse.tasks.task import Task
from synapse.watch.turns import Turn

PROGRESS_INTERVAL = 0.1  # seconds between two pieces of a reply under way
PROGRESS_INTERVAL_SCREEN = 0.5  # the same where the reply is read off the screen


@dataclass
class Carry:
    """`mark` is how the message begins, `length` how long it is."""

    task: Task
    mark: str
    length: int
    turn: Turn | None = None  # the turn that began with the message
    interrupted: str = ""  # why we interrupted that turn
    told: str = ""  # what of the reply was told
    told_at: float = 0.0

    @property
    def over(self) -> bool:
        """Whether no turn of this task is under way."""
        return self.turn is None or self.turn.ended_at is not None

    def is_taken(self, screen_only: bool) -> bool:
        """Whether the agent has begun its turn. `screen_only`: the screen is all that shows it."""
        if self.turn is None or self.turn.accepted or self.turn.busy:
            return self.turn is not None
        # Too fast to be seen at work.
        return screen_only and bool(self.turn.ended_at and self.turn.reply)

    def begins(self, turn: Turn) -> bool:
        """Whether this turn began with the message."""
        return turn.prompt is not None and self.mark in turn.prompt

    def next_piece(self, text: str, now: float) -> tuple[str, bool]:
        """What to tell of a reply that is `text` so far, and whether it continues what was told."""
        self.told_at = now
        append = bool(self.told) and text.startswith(self.told)
        piece = text[len(self.told) :] if append else text
        self.told = text
        return piece, append

    def next_look(self, now: float) -> float:
        """Seconds until the reply is worth another look."""
        channel = self.turn is not None and self.turn.accepted
        interval = PROGRESS_INTERVAL if channel else PROGRESS_INTERVAL_SCREEN
        return max(self.told_at + interval - now, PROGRESS_INTERVAL / 2)


def mark_of(text: str) -> str:
    """The mark of a message that begins with one."""
    return text.partition("]")[0] + "]"
