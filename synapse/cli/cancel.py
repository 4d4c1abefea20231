"""`synapse cancel`: cancel a task."""

import asyncio

from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser
from synapse.cli.shared.tasks import find_task
from synapse.errors import SynapseError
from synapse.peers import control

HELP = "Cancel a task: it leaves the queue, or the agent that works on it is interrupted."


def parser() -> Parser:
    return Parser("synapse cancel", HELP).add_task()


def main(argv: list[str]) -> int:
    found = find_task(parser().parse_args(argv).task)
    task, short = found.task, found.short
    if task.ended:
        raise SynapseError(f"task {short} is {task.state} already: `synapse task {short}` shows it.")
    if peer := found.peer():
        state = asyncio.run(peer.cancel(task.id)).status
    else:
        answer = control.call(found.agent(), "POST", f"/tasks/{task.id}/cancel", {}, timeout=20)
        after = answer.get("task", answer)
        state = after.get("state", "canceled") if isinstance(after, dict) else "canceled"
    say(f"{short} is {state}")
    return 0 if state == "canceled" else 1
