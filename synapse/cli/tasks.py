"""`synapse tasks`: what was sent to whom, and what became of it."""

from __future__ import annotations

import argparse
import json
import time

from synapse.base.text import for_output
from synapse.cli.target import find_agent
from synapse.registry import AgentRegistry
from synapse.tasks.shelf import list_tasks
from synapse.tasks.task import Task, message_text, sender_id
from synapse.terminal.cells import aligned, crop

HEADER = ("TASK", "AGENT", "STATE", "AGE", "FROM", "MESSAGE")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse tasks",
        description="List the tasks of one agent or of all: those that ask, work or wait, then the latest.",
    )
    parser.add_argument("target", nargs="?", help="only the tasks of this running agent")
    parser.add_argument("--json", action="store_true", help="one JSON array of tasks")
    parser.add_argument("-n", "--limit", type=int, default=20, metavar="N", help="at most N (default: 20)")
    options = parser.parse_args(argv)
    agent_id = str(find_agent(options.target)["agent_id"]) if options.target else None
    found = list_tasks(agent_id, max(options.limit, 1))
    names = {str(e["agent_id"]): str(e["name"]) for e in AgentRegistry().list_agents().values()}
    if options.json:
        documents = [{**task.to_dict(), "agent_id": known} for known, task in found]
        print(json.dumps(documents, ensure_ascii=False, indent=2))
        return 0
    if not found:
        print("no task has been sent yet: `synapse send <agent> <message>` sends one")
        return 0
    rows = [HEADER, *(_row(names.get(known, f"{known[:8]} (ended)"), task) for known, task in found)]
    for line in aligned(rows):
        print(crop(line, 160))
    return 0


def _row(agent: str, task: Task) -> tuple[str, ...]:
    message = " ".join(message_text(task.message).split())
    return (
        task.short_id,
        agent,
        task.state,
        _age(task.updated_at),
        sender_id(task.sender),
        for_output(message)[:80],
    )


def _age(at: float) -> str:
    seconds = max(time.time() - at, 0)
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s"
