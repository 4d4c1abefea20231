"""`synapse task`: show one task in full."""

from collections.abc import Iterator

from synapse.api.reply import usage_of
from synapse.base.text import for_line
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import Parser
from synapse.cli.shared.tasks import find_task
from synapse.peers.prompts import plain_question
from synapse.tasks.task import Task, message_text, sender_id

HELP = "Show one task: its message, its steps with their times, and the reply."


def parser() -> Parser:
    return Parser("synapse task", HELP).add_task().add_json()


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    found = find_task(options.task)
    document = {**found.task.to_dict(), "agent_id": found.agent_id}
    return show(options.json, document, _lines(found.task, found.short))


def _lines(task: Task, short: str) -> Iterator[str]:
    note = f" ({task.note})" if task.note else ""
    yield f"{task.id}  {task.state}{for_line(note)}"
    yield f"from {sender_id(task.sender)}, priority {task.priority}: {message_text(task.message)}"
    for receipt in task.receipts:
        more = ", ".join(f"{key} {value}" for key, value in receipt.items() if key not in ("step", "at"))
        yield f"  {receipt['at']}  {for_line(str(receipt['step']))}{f' ({for_line(more)})' if more else ''}"
    if usage := usage_of(task):
        yield f"used {usage.input_tokens} tokens of input and {usage.output_tokens} of output"
    if task.error:
        yield f"error {for_line(str(task.error.get('code')))}: {task.error.get('message')}"
    if task.prompt:
        yield f"it asks: {plain_question(task.prompt)}"
        yield f'answer it with `synapse input {short} "…"`'
    if task.reply:
        yield f"\n{task.reply}"
