"""What the conformance kit expects of an agent and no agent in a terminal does: park a task, or reject it."""

from __future__ import annotations

from synapse.base.states import INPUT_REQUIRED, REJECTED
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, Task


def park(engine: TaskEngine, task: Task, prompt: Json | None = None) -> None:
    """The task asks something and frees the agent: the next message to the task is the answer."""
    task.at_work = False
    engine._release(task)
    engine.store.add_receipt(task, "parked")
    engine.store.update_status(task.id, INPUT_REQUIRED, prompt=prompt)


def reject(engine: TaskEngine, task: Task, error: Json) -> None:
    engine._end(task, REJECTED, error=error)
