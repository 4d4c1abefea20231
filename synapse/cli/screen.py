"""`synapse screen`: print an agent's screen as text."""

from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import Parser
from synapse.peers import control


def parser() -> Parser:
    found = Parser("synapse screen", "Print what an agent's terminal shows now.").add_agent()
    how = found.add_mutually_exclusive_group()
    how.add_argument("--ansi", action="store_true", help="with colours, as escape sequences")
    how.add_argument("--json", action="store_true", help="text, size, cursor, title and status as JSON")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    screen = control.call(find_agent(options.target), "GET", "/terminal/screen")
    if options.ansi:
        # The host makes it from the cells of its screen model.
        print(str(screen["ansi"]).replace("\r\n", "\n") + "\x1b[0m")
        return 0
    return show(options.json, screen, [str(screen["text"])])
