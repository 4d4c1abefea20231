"""How much a run may ask: turns, tokens and messages. Nothing is cut in the middle of a turn."""

from __future__ import annotations

from dataclasses import dataclass, fields

from synapse.errors import OverBudget
from synapse.run.journal import Record


@dataclass
class Budget:
    """Zero means that there is no limit."""

    turns: int = 0
    tokens: int = 0
    messages: int = 0

    def check(self, spent: Budget, key: str) -> None:
        """Raises OverBudget with the numbers if the next step may not be asked."""
        for limit in fields(self):
            most, used = getattr(self, limit.name), getattr(spent, limit.name)
            if most and used >= most:
                raise OverBudget(
                    f"step {key} is not asked: the run has used {used} of {most} {limit.name}; "
                    f"resume it with a higher --max-{limit.name}.",
                    key,
                )


def spent(record: Record) -> Budget:
    """What the steps in a journal have used so far. A step that is under way will have used a turn."""
    going = sum(step.state == "working" for step in record.steps.values())
    return Budget(record.turns + going, record.tokens, record.messages)
