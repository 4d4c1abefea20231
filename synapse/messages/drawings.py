"""The drawings that were sent to the relay, and what became of them."""

from dataclasses import dataclass, field
from typing import NamedTuple

from synapse.messages.placement import NEVER
from synapse.terminal.overlay import Box

NOWHERE = -1  # the position of a drawing that came too late


class Drawing(NamedTuple):
    number: int
    at: int  # the position in the agent's output, or NOWHERE
    boxes: list[Box]
    once: bytes
    erase: bytes
    aside: bool = False  # on the alternate screen, which the agent does not use


@dataclass
class Drawings:
    """The drawings sent to the relay."""

    count: int = 0
    asked: dict[int, Drawing] = field(default_factory=dict)  # the relay has not answered yet
    up: Drawing | None = None  # the last one, unless it was refused or removed
    shown: Drawing | None = None  # the same, if it is on the terminal and no output has come since
    left_at: float = NEVER  # when a drawing was last on the terminal
    missed: bool = False  # something has changed since the last one was sent
    once: bytes = b""  # sent with the next drawing, such as a copy to the clipboard

    def outdate(self, now: float) -> None:
        """Output has come, after which it must be drawn again."""
        if self.shown is not None and not self.shown.aside:
            self.left_at = now
        self.shown = None

    def leave(self, now: float) -> None:
        self.outdate(now)
        self.up = None
