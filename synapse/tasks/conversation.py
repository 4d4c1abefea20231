"""What the agents of one conversation have used, and its limits.

A conversation is an A2A context: what an agent sends because of a message belongs to the context of that
message. There is no central count. Each agent counts its own tasks, and a message carries what its sender
knows of the others, so the limit is checked where the next message arrives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, NamedTuple

from synapse.tasks.loop_guard import Chain
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Task

MOST_AGENTS = 64  # that a message carries counts of
MOST_TASKS = 1000  # of a context that are counted


class Used(NamedTuple):
    """By one agent, or by all of a conversation."""

    turns: int = 0
    tokens: int = 0
    messages: int = 0

    def most(self, other: Used) -> Used:
        """What two messages have told of the same agent."""
        return Used(*map(max, self, other))

    def plus(self, other: Used) -> Used:
        return Used(*(mine + its for mine, its in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Budget:
    """The limits of a conversation; 0 is none."""

    turns: int = 0
    tokens: int = 0
    messages: int = 0

    def objection(self, used: Used) -> str:
        """Why the next message is refused; empty if it is not."""
        for limit in fields(self):
            most, so_far = getattr(self, limit.name), getattr(used, limit.name)
            if most and so_far >= most:
                return (
                    f"the conversation has used {so_far} of {most} {limit.name}: tell a human, who can go on "
                    f"with it, or raise routing.budget.{limit.name}."
                )
        return ""


class Conversations:
    """What is known to this agent, `me`, of its conversations."""

    def __init__(self, store: TaskStore, me: str, budget: Budget) -> None:
        self._store = store
        self._me = me
        self._budget = budget

    def known(self, task: Task) -> dict[str, list[int]]:
        """For a message that the agent sends because of this task."""
        used = self._used(task.context_id, task.metadata, task.message.get("metadata"))
        return {agent: list(counts) for agent, counts in used.items()}

    def objection(self, context_id: str | None, *metadata: object) -> str:
        """Why a message is refused; empty if it is not. Only agents are limited: a human may go on."""
        if self._budget == Budget() or not context_id or not Chain.of(*metadata).hops:
            return ""
        return self._budget.objection(reduce(Used.plus, self._used(context_id, *metadata).values(), Used()))

    def _used(self, context_id: str, *metadata: object) -> dict[str, Used]:
        told = read(Chain.of(*metadata).used)
        return merged({self._me: used_here(self._store, context_id)}, told)


def used_here(store: TaskStore, context_id: str) -> Used:
    """What this agent has used in a context."""
    total = Used()
    for task in store.list_tasks(context_id=context_id, limit=MOST_TASKS):
        turn = task.metadata.get("turn")
        usage = turn.get("usage") if isinstance(turn, Mapping) else None
        tokens = sum(_count(usage, name) for name in ("input_tokens", "output_tokens"))
        total = total.plus(Used(int(turn is not None), tokens, 1))
    return total


def merged(known: Mapping[str, Used], told: Mapping[str, Used]) -> dict[str, Used]:
    """Counts only grow, so of two that are told of one agent the larger is the later."""
    agents = [*known, *(agent for agent in told if agent not in known)][:MOST_AGENTS]
    return {agent: known.get(agent, Used()).most(told.get(agent, Used())) for agent in agents}


def read(value: object) -> dict[str, Used]:
    """The counts in a message's metadata; what is not a count is left out."""
    if not isinstance(value, Mapping):
        return {}
    found = {}
    for agent, counts in list(value.items())[:MOST_AGENTS]:
        is_list = isinstance(counts, list) and len(counts) == len(Used._fields)
        if is_list and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in counts):
            found[str(agent)] = Used(*counts)
    return found


def _count(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
