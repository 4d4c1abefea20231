"""One task on its way to the agent and back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from synapse.tasks.task import Json, Task
from synapse.watch.observer import Observer
from synapse.watch.screen.errors import DetectedError
from synapse.watch.turns import Turn

PROGRESS_INTERVAL = 0.1  # seconds between two reports of a running reply
PROGRESS_INTERVAL_SCREEN = 0.5  # the same, if the reply is read from the screen
REST = 2.0  # seconds at most for what a CLI writes about a turn after it has reported its end
REST_AGAIN = 0.02  # seconds between two looks at it


@dataclass
class Carry:
    """`text` is the message as it is typed, or what is known of it; `mark` is its beginning."""

    task: Task
    mark: str
    text: str
    turn: Turn | None = None  # the turn that began with the message
    interrupted: str = ""  # why we interrupted that turn
    told: str = ""  # the reply that was reported so far
    told_at: float = 0.0

    @property
    def over(self) -> bool:
        return self.turn is None or self.turn.ended_at is not None

    def is_taken(self, screen_only: bool) -> bool:
        """Whether the agent has begun its turn. `screen_only`: the agent has no channel that reports it."""
        if self.turn is None or self.turn.accepted or self.turn.busy:
            return self.turn is not None
        # The screen may miss the work of a short turn.
        return screen_only and self.turn.ended_at is not None and self.turn.outcome != "failed"

    def begins(self, turn: Turn) -> bool:
        return turn.prompt is not None and self.mark in turn.prompt

    def next_piece(self, text: str, now: float) -> tuple[str, bool]:
        """The part of the reply `text` to report, and whether it continues what was reported."""
        self.told_at = now
        append = bool(self.told) and text.startswith(self.told)
        piece = text[len(self.told) :] if append else text
        self.told = text
        return piece, append

    def next_look(self, now: float) -> float:
        channel = self.turn is not None and self.turn.accepted
        interval = PROGRESS_INTERVAL if channel else PROGRESS_INTERVAL_SCREEN
        return max(self.told_at + interval - now, PROGRESS_INTERVAL / 2)


def not_taken(error: DetectedError | None) -> Json:
    """Why the message was not taken: what the agent says, if it does."""
    why = "the agent did not take the message: look at its terminal, and send it again"
    return {"code": "NOT_TAKEN", "message": why} if error is None else error.to_a2a_error()


def advised(error: Json, agent: str) -> Json:
    """With what to do, where only a human at the agent's terminal can do it."""
    if error["code"] != "LOGIN_REQUIRED":
        return error
    said = str(error["message"]).rstrip(". ")
    advice = f"Log in at the agent's terminal (`synapse attach {agent}`), then send the message again."
    return {**error, "message": f"{said}. {advice}"}


def mark_of(text: str) -> str:
    return text.partition("]")[0] + "]"


async def read_rest(
    turn: Turn, observer: Observer, clock: Callable[[], float], pause: Callable[[float], Awaitable[None]]
) -> None:
    """Wait until the turn has the tokens of its last request, if the CLI writes them later."""
    until = clock() + REST
    while observer.is_behind(turn, clock()) and clock() < until:
        await pause(REST_AGAIN)
