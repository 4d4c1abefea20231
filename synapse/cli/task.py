"""`synapse task`: show one task in full."""

from __future__ import annotations

import json

from synapse.base.text import for_output
from synapse.cli.shared.parser import TASK, Parser
from synapse.tasks.shelf import find_task
from synapse.tasks.task import Task, message_text, sender_id


def parser() -> Parser:
    found = Parser(
        prog="synapse task",
        description="Show one task: its message, its steps with their times, and the reply.",
    )
    found.add_word("task", TASK, help="its id, or the beginning of it")
    found.add_json()
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    agent_id, task = find_task(options.task)
    if options.json:
        print(json.dumps({**task.to_dict(), "agent_id": agent_id}, ensure_ascii=False, indent=2))
        return 0
    _show(task)
    return 0


def _show(task: Task) -> None:
    note = f" ({task.note})" if task.note else ""
    print(f"{task.id}  {task.state}{note}")
    print(
        f"from {sender_id(task.sender)}, priority {task.priority}: {for_output(message_text(task.message))}"
    )
    for receipt in task.receipts:
        more = ", ".join(f"{key} {value}" for key, value in receipt.items() if key not in ("step", "at"))
        print(f"  {receipt['at']}  {receipt['step']}{f' ({for_output(more)})' if more else ''}")
    if task.error:
        print(f"error {task.error.get('code')}: {for_output(str(task.error.get('message')))}")
    if task.prompt:
        options = for_output(", ".join(task.prompt.get("options") or []))
        print(f"it asks: {for_output(str(task.prompt.get('prompt')))}{f' [{options}]' if options else ''}")
        print(f'answer it with `synapse input {task.short_id} "…"`')
    if task.reply:
        print(f"\n{for_output(task.reply)}")
