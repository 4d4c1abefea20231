"""`synapse input`: answer a question that an agent asks in a task."""

import sys

from synapse.a2a_client import Origin
from synapse.cli.shared.agents import agent_of
from synapse.cli.shared.parser import Parser
from synapse.peers import control
from synapse.tasks.shelf import find_task

HELP = "Answer a question that an agent asks in a task: an option's words, its number or key, or any text."


def parser() -> Parser:
    found = Parser("synapse input", HELP).add_task()
    found.add_argument("text", nargs="+", help="the answer; - reads it from standard input")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    agent_id, task = find_task(options.task)
    text = " ".join(options.text)
    if text == "-":
        text = sys.stdin.readline().rstrip("\n")  # `ps` would show a secret
    origin = Origin.of_this_process() or Origin.from_environment()
    body = {"input": text, "sender": origin.sender if origin else None}
    control.call(agent_of(agent_id), "POST", f"/tasks/{task.id}/input", body)
    print(f"answered {task.short_id}")
    return 0
