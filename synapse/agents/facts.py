"""The facts that a channel reports: plain data, the same for every CLI."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class StateSeen:
    """The agent is now in one of these states."""

    source: str
    says: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class PromptAccepted:
    """A turn has begun with this message. `if_idle`: only if none is running, because it may be something
    that the CLI itself says to its model in the middle of one."""

    source: str
    text: str
    if_idle: bool = False


@dataclass(frozen=True)
class Steered:
    """The human has added this message to the running turn, which goes on with it."""

    source: str
    text: str


@dataclass(frozen=True)
class Said:
    """A whole message of the agent. One with the same `key` replaces the earlier one."""

    source: str
    text: str
    key: str = ""


@dataclass(frozen=True)
class ToolUsed:
    source: str
    name: str
    key: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FileChanged:
    """The agent has changed a file: the tool has done it, and not only asked for it."""

    path: str  # relative to the agent's working directory, or absolute
    at: float = 0.0  # wall clock; 0: now


@dataclass(frozen=True)
class TokensUsed:
    """Counts of one request; one with the same `key` replaces the earlier one."""

    input_tokens: int
    output_tokens: int
    key: str = ""


@dataclass(frozen=True)
class Denied:
    """The human has denied a tool. If the turn goes on, the agent does something else."""

    source: str
    subject: str = ""  # the command or file, if it is known


@dataclass(frozen=True)
class TurnEnded:
    """The turn is over. `reply` is its last message, if the channel has it exactly."""

    source: str
    outcome: str  # completed | interrupted | failed
    reply: str | None = None
    error: dict[str, Any] | None = None
    denied: bool | None = (
        None  # interrupted because the human denied a tool; None if the channel does not say
    )


@dataclass(frozen=True)
class Failed:
    """A request to the model has failed. The turn may continue: a later message cancels the error."""

    source: str
    error: dict[str, Any]


Fact = (
    StateSeen
    | PromptAccepted
    | Steered
    | Said
    | ToolUsed
    | FileChanged
    | TokensUsed
    | Denied
    | TurnEnded
    | Failed
)


def tokens_used(counts: object, read: str, written: str, key: str) -> list[Fact]:
    """From the fields `read` and `written` of a JSON object; nothing unless both are numbers."""
    numbers = (counts.get(read), counts.get(written)) if isinstance(counts, dict) else (None, None)
    match numbers:
        case (int(input_tokens), int(output_tokens)):
            return [TokensUsed(input_tokens, output_tokens, key)]
    return []
