"""`synapse interrupt`: interrupt what an agent is doing, and send it a message instead."""

from __future__ import annotations

from synapse.a2a_client import A2AClient
from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.parser import Parser
from synapse.peers import control


def parser() -> Parser:
    found = Parser(
        prog="synapse interrupt",
        description="Interrupt what an agent is doing. With a message: send it with priority 5.",
    )
    found.add_agent()
    found.add_argument("message", nargs="*", help="what to do instead")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
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
