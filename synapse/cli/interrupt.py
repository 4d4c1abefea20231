"""`synapse interrupt`: stop what an agent is doing, and tell it something instead."""

from __future__ import annotations

import argparse

from synapse.a2a_client import A2AClient
from synapse.cli.target import find_agent
from synapse.peers import control


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
        task = A2AClient().send_to_local(entry, " ".join(options.message), priority=5)
        print(f"sent {task.id[:8]} to {entry['name']} with priority 5")
        return 0
    interrupted = control.call(entry, "POST", "/terminal/interrupt", {})["interrupted"]
    print(
        f"{entry['name']} was interrupted"
        if interrupted
        else f"{entry['name']} is idle: nothing to interrupt"
    )
    return 0
