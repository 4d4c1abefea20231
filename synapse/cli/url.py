"""`synapse url`: print the address of an agent."""

from synapse.cli.shared.agents import find_agent_here
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import Parser

HELP = """\
Print the address of an agent, for an A2A client, a browser or a script.

  curl "$(synapse url codex)/status"
  synapse url codex --card

`GET /docs` at this address shows what the agent serves.
"""
CARD = "/.well-known/agent-card.json"


def parser() -> Parser:
    found = Parser("synapse url", HELP).add_agent()
    found.add_argument("--card", action="store_true", help="print the address of its agent card instead")
    return found.add_json()


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    entry = find_agent_here(options.target)
    url = str(entry["endpoint"])
    document = {"name": entry["name"], "url": url, "card": url + CARD}
    return show(options.json, document, [url + CARD if options.card else url])
