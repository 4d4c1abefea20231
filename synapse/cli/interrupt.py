"""`synapse interrupt`: stop what an agent is doing, and tell it something instead."""

from __future__ import annotations

import argparse

from synapse import control
from synapse.cli.sender import sender_of_this_process
from synapse.cli.target import find_agent


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse interrupt",
        description="Interrupt what an agent is doing. With a message: send it with priority 5.",
    )
    parser.add_argument("target", help="a name, a type, type-port, or the beginning of an id")
    parser.add_argument("message", nargs="*", help="what to do instead")
    options = parser.parse_args(argv)
    entry = find_agent(options.target)
    if options.message:
        body = {"message": " ".join(options.message), "sender": sender_of_this_process()}
        answer = control.call(entry, "POST", "/tasks/send-priority?priority=5", body)
        task = answer["task"]
        assert isinstance(task, dict)
        print(f"sent {str(task['id'])[:8]} to {entry['name']} with priority 5")
        return 0
    interrupted = control.call(entry, "POST", "/terminal/interrupt", {})["interrupted"]
    print(
        f"{entry['name']} was interrupted"
        if interrupted
        else f"{entry['name']} is idle: nothing to interrupt"
    )
    return 0
