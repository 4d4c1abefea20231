"""`synapse input`: answer a question that an agent asks in a task."""

import asyncio
import sys

from synapse.a2a_client import Origin
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser
from synapse.cli.shared.tasks import find_task
from synapse.errors import UsageError
from synapse.peers import control
from synapse.peers.prompts import is_secret, question_id
from synapse.peers.remote import sender_there

HELP = "Answer a question that an agent asks in a task: an option's words, its number or key, or any text."


def parser() -> Parser:
    found = Parser("synapse input", HELP).add_task()
    found.add_argument("text", nargs="+", help="the answer; - reads it from standard input")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    found = find_task(options.task)
    task, short = found.task, found.short
    text = " ".join(options.text)
    if text == "-":
        text = sys.stdin.readline().rstrip("\n")
    elif task.prompt and is_secret(task.prompt):
        raise UsageError(
            f"task {short} asks for a secret, which `ps` would show: "
            f"`synapse input {short} -` reads it from standard input, "
            f"and `synapse answer {task.prompt['id']}` without showing it."
        )
    if peer := found.peer():
        asyncio.run(peer.answer(task.id, text, question_id(task.prompt)))
        say(f"answered {short}")
        return 0
    origin = Origin.of_this_process() or Origin.from_environment()
    entry = found.agent()
    body = {"input": text, "sender": sender_there(origin, entry) if origin else None}
    control.call(entry, "POST", f"/tasks/{task.id}/input", body)
    say(f"answered {short}")
    return 0
