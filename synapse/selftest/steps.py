"""What a scripted model does: it says something, waits, calls a tool, refuses, or breaks off.

A script is a list of steps. Where it ends in a tool call, the CLI asks again with the tool's result, and the
script goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Hold:
    """As the first step: wait before the first byte of the response."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """Close the connection in the middle of the reply."""


@dataclass(frozen=True)
class Run:
    """Ask for a shell command that the CLI will not run before a human has agreed. `sandboxed`: to be run in
    its sandbox, if it has one, which needs no permission."""

    command: str
    sandboxed: bool = False


@dataclass(frozen=True)
class Read:
    """Ask for a file, which no CLI asks a human about."""

    path: str


@dataclass(frozen=True)
class Write:
    """Ask for a new file, which the CLI will not write before a human has agreed."""

    path: str
    text: str


@dataclass(frozen=True)
class Use:
    """Call a tool of an MCP server, which the CLI will not do before a human has agreed."""

    server: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Delegate:
    """Give a task to a subagent; its prompt may name a scenario of its own."""

    prompt: str


@dataclass(frozen=True)
class Refuse:
    """Answer with an HTTP error instead. `resets_at`: a plan is used up until then (seconds since 1970)."""

    status: int
    resets_at: int = 0


Call = Run | Read | Write | Use | Delegate
Step = Say | Wait | Hold | Cut | Call | Refuse

# What the model does next with a prompt whose tool calls so far came back with these results.
Script = Callable[[str, Sequence[str]], list[Step]]
