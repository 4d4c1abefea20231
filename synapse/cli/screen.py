"""`synapse screen`: an agent's screen as text."""

from __future__ import annotations

import argparse
import json

from synapse.cli.target import find_agent
from synapse.peers import control


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse screen", description="Print what an agent's terminal shows now."
    )
    parser.add_argument("target", help="a name, a type, type-port, or the beginning of an id")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--ansi", action="store_true", help="with colours, as escape sequences")
    how.add_argument("--json", action="store_true", help="text, size, cursor, title and status as JSON")
    options = parser.parse_args(argv)
    screen = control.call(find_agent(options.target), "GET", "/terminal/screen")
    if options.json:
        print(json.dumps(screen, ensure_ascii=False, indent=2))
    elif options.ansi:
        print(str(screen["ansi"]).replace("\r\n", "\n") + "\x1b[0m")
    else:
        print(screen["text"])
    return 0
