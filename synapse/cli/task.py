"""`synapse task`: show one task in full."""

from collections.abc import Iterator

from synapse.base.text import for_output
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import Parser
from synapse.peers.prompts import plain_question
from synapse.tasks.shelf import find_task
from synapse.tasks.task import Task, message_text, sender_id

HELP = "Show one task: its message, its steps with their times, and the reply."


def parser() -> Parser:
    return Parser("synapse task", HELP).add_task().add_json()


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    agent_id, task = find_task(options.task)
    return show(options.json, {**task.to_dict(), "agent_id": agent_id}, _lines(task))


def _lines(task: Task) -> Iterator[str]:
    note = f" ({task.note})" if task.note else ""
    yield f"{task.id}  {task.state}{note}"
    yield f"from {sender_id(task.sender)}, priority {task.priority}: {for_output(message_text(task.message))}"
    for receipt in task.receipts:
        more = ", ".join(f"{key} {value}" for key, value in receipt.items() if key not in ("step", "at"))
        yield f"  {receipt['at']}  {receipt['step']}{f' ({for_output(more)})' if more else ''}"
    if task.error:
        yield f"error {task.error.get('code')}: {for_output(str(task.error.get('message')))}"
    if task.prompt:
        yield f"it asks: {for_output(plain_question(task.prompt))}"
        yield f'answer it with `synapse input {task.short_id} "…"`'
    if task.reply:
        yield f"\n{for_output(task.reply)}"
