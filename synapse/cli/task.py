"""`synapse task`: one task, whole."""

from __future__ import annotations

import argparse
import json

from synapse.task import Task, message_text, sender_id
from synapse.task_shelf import find_task


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse task", description="Show one task: its message, what became of it, and the reply."
    )
    parser.add_argument("task", help="its id, or the beginning of it")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    agent_id, task = find_task(options.task)
    if options.json:
        print(json.dumps({**task.to_dict(), "agent_id": agent_id}, ensure_ascii=False, indent=2))
        return 0
    _show(task)
    return 0


def _show(task: Task) -> None:
    note = f" ({task.note})" if task.note else ""
    print(f"{task.id}  {task.state}{note}")
    print(f"from {sender_id(task.sender)}, priority {task.priority}: {_clean(message_text(task.message))}")
    for receipt in task.receipts:
        more = ", ".join(f"{key} {value}" for key, value in receipt.items() if key not in ("step", "at"))
        print(f"  {receipt['at']}  {receipt['step']}{f' ({_clean(more)})' if more else ''}")
    if task.error:
        print(f"error {task.error.get('code')}: {_clean(str(task.error.get('message')))}")
    if task.prompt:
        options = ", ".join(task.prompt.get("options") or [])
        print(f"it asks: {_clean(str(task.prompt.get('prompt')))}{f' [{options}]' if options else ''}")
        print(f'answer it with `synapse input {task.short_id} "…"`')
    if task.reply:
        print(f"\n{_clean(task.reply)}")


def _clean(text: str) -> str:
    """What somebody else wrote must not drive this terminal."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")
