"""`synapse cancel`: cancel a task."""

from __future__ import annotations

from synapse.cli.shared.agents import agent_of
from synapse.cli.shared.parser import TASK, Parser
from synapse.errors import SynapseError
from synapse.peers import control
from synapse.tasks.shelf import find_task


def parser() -> Parser:
    found = Parser(
        prog="synapse cancel",
        description="Cancel a task: it leaves the queue, or the agent that works on it is interrupted.",
    )
    found.add_word("task", TASK, help="the task's id, or the beginning of it")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    agent_id, task = find_task(options.task)
    if task.ended:
        raise SynapseError(f"task {task.short_id} is {task.state} already.")
    answer = control.call(agent_of(agent_id), "POST", f"/tasks/{task.id}/cancel", {}, timeout=20)
    after = answer.get("task", answer)
    state = after.get("state", "canceled") if isinstance(after, dict) else "canceled"
    print(f"{task.short_id} is {state}")
    return 0 if state == "canceled" else 1
