"""`synapse tasks`: list the tasks that were sent, with their states."""

import time

from synapse.base.text import for_output
from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import AGENT, Parser
from synapse.registry import AgentRegistry
from synapse.tasks.shelf import list_tasks
from synapse.tasks.task import Task, message_text, sender_id
from synapse.terminal.cells import aligned, crop

HELP = "List the tasks of one agent or of all: those that ask, work or wait come first."
HEADER = ("TASK", "AGENT", "STATE", "AGE", "FROM", "MESSAGE")


def parser() -> Parser:
    found = Parser("synapse tasks", HELP)
    found.add_word("target", AGENT, nargs="?", help="only the tasks of this running agent")
    found.add_json("print one JSON array of tasks")
    found.add_argument("-n", "--limit", type=int, default=20, metavar="N", help="at most N (default: 20)")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    agent_id = str(find_agent(options.target)["agent_id"]) if options.target else None
    found = list_tasks(agent_id, max(options.limit, 1))
    names = {str(e["agent_id"]): str(e["name"]) for e in AgentRegistry().list_agents().values()}
    documents = [{**task.to_dict(), "agent_id": known} for known, task in found]
    rows = [HEADER, *(_row(names.get(known, f"{known[:8]} (ended)"), task) for known, task in found)]
    lines = [crop(line, 160) for line in aligned(rows)]
    none = ["no task has been sent yet: `synapse send <agent> <message>` sends one"]
    return show(options.json, documents, lines if found else none)


def _row(agent: str, task: Task) -> tuple[str, ...]:
    message = for_output(" ".join(message_text(task.message).split()))[:80]
    return task.short_id, agent, task.state, _age(task.updated_at), sender_id(task.sender), message


def _age(at: float) -> str:
    seconds = max(time.time() - at, 0)
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s"
