"""`synapse cancel`: cancel a task."""

from synapse.cli.shared.agents import agent_of
from synapse.cli.shared.parser import Parser
from synapse.errors import SynapseError
from synapse.peers import control
from synapse.tasks.shelf import find_task

HELP = "Cancel a task: it leaves the queue, or the agent that works on it is interrupted."


def parser() -> Parser:
    return Parser("synapse cancel", HELP).add_task()


def main(argv: list[str]) -> int:
    agent_id, task = find_task(parser().parse_args(argv).task)
    if task.ended:
        raise SynapseError(f"task {task.short_id} is {task.state} already.")
    answer = control.call(agent_of(agent_id), "POST", f"/tasks/{task.id}/cancel", {}, timeout=20)
    after = answer.get("task", answer)
    state = after.get("state", "canceled") if isinstance(after, dict) else "canceled"
    print(f"{task.short_id} is {state}")
    return 0 if state == "canceled" else 1
