"""`synapse interrupt`: interrupt what an agent is doing, and send it a message instead."""

import asyncio

from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser
from synapse.peers import control
from synapse.peers.directory import open_directory
from synapse.peers.origin import Origin

HELP = "Interrupt what an agent is doing. With a message: send it with priority 5."


def parser() -> Parser:
    found = Parser("synapse interrupt", HELP).add_agent()
    found.add_argument("message", nargs="*", help="what to do instead")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if options.message:
        peer = open_directory(Origin.of_this_process()).find(options.target)
        task = asyncio.run(peer.send(" ".join(options.message), priority=5))
        say(f"sent {task.id[:8]} to {peer.name} with priority 5")
        return 0
    entry = find_agent(options.target)
    name = entry["name"]
    interrupted = control.call(entry, "POST", "/terminal/interrupt", {})["interrupted"]
    say(f"{name} was interrupted" if interrupted else f"{name} is idle: nothing to interrupt")
    return 0
