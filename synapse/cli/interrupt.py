"""`synapse interrupt`: interrupt what an agent is doing, and send it a message instead."""

from synapse.a2a_client import A2AClient
from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.parser import Parser
from synapse.peers import control

HELP = "Interrupt what an agent is doing. With a message: send it with priority 5."


def parser() -> Parser:
    found = Parser("synapse interrupt", HELP).add_agent()
    found.add_argument("message", nargs="*", help="what to do instead")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    entry = find_agent(options.target)
    name = entry["name"]
    if options.message:
        task = A2AClient().send_to_local(entry, " ".join(options.message), priority=5)
        print(f"sent {task.id[:8]} to {name} with priority 5")
        return 0
    interrupted = control.call(entry, "POST", "/terminal/interrupt", {})["interrupted"]
    print(f"{name} was interrupted" if interrupted else f"{name} is idle: nothing to interrupt")
    return 0
