"""`synapse cancel`: take a task back."""

from __future__ import annotations

import argparse

from synapse.cli.target import agent_of
from synapse.errors import SynapseError
from synapse.peers import control
from synapse.tasks.shelf import find_task


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse cancel",
        description="Cancel a task: it leaves the queue, or the agent is interrupted if it is at it.",
    )
    parser.add_argument("task", help="the task's id, or the beginning of it")
    options = parser.parse_args(argv)
    agent_id, task = find_task(options.task)
    if task.ended:
        raise SynapseError(f"task {task.short_id} is {task.state} already.")
    answer = control.call(agent_of(agent_id), "POST", f"/tasks/{task.id}/cancel", {}, timeout=20)
    after = answer.get("task", answer)
    state = after.get("state", "canceled") if isinstance(after, dict) else "canceled"
    print(f"{task.short_id} is {state}")
    return 0 if state == "canceled" else 1
