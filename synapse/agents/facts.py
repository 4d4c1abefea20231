"""What a channel of an agent CLI can tell: plain data, the same for every CLI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class StateSeen:
    """The agent is, as of now, in one of these states."""

    source: str
    says: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class PromptAccepted:
    """A turn has begun with this message."""

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
class TokensUsed:
    """Counts of one request; one with the same `key` replaces the earlier one."""

    input_tokens: int
    output_tokens: int
    key: str = ""


@dataclass(frozen=True)
class TurnEnded:
    """The agent is done with the turn. `reply` is its last message, where the channel gives it exactly."""

    source: str
    outcome: str  # completed | interrupted | failed
    reply: str | None = None
    error: dict[str, Any] | None = None
    why: str = ""


@dataclass(frozen=True)
class Failed:
    """A request to the model has failed. The turn may go on: what is said later takes it back."""

    source: str
    error: dict[str, Any]


Fact = StateSeen | PromptAccepted | Said | ToolUsed | TokensUsed | TurnEnded | Failed
