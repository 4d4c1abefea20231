"""`synapse input`: answer what an agent asks in a task."""

from __future__ import annotations

import argparse

from synapse.a2a_client import Origin
from synapse.cli.target import agent_of
from synapse.peers import control
from synapse.tasks.shelf import find_task


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse input",
        description="Answer what an agent asks in a task: an option's words, its number or key, or a text.",
    )
    parser.add_argument("task", help="the task's id, or the beginning of it")
    parser.add_argument("text", nargs="+", help="the answer; - reads it from standard input")
    options = parser.parse_args(argv)
    agent_id, task = find_task(options.task)
    text = " ".join(options.text)
    if text == "-":
        import sys

        text = sys.stdin.readline().rstrip("\n")  # a secret has no business in the list of processes
    origin = Origin.from_environment()
    body = {"input": text, "sender": origin.sender if origin else None}
    control.call(agent_of(agent_id), "POST", f"/tasks/{task.id}/input", body)
    print(f"answered {task.short_id}")
    return 0
