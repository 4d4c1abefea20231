"""`synapse status`: show what one agent is doing."""

from __future__ import annotations

import json

from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.parser import Parser
from synapse.peers import control


def parser() -> Parser:
    found = Parser(prog="synapse status", description="Show what one agent is doing.")
    found.add_agent()
    found.add_json()
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    entry = find_agent(options.target)
    status = control.call(entry, "GET", "/status")
    if options.json:
        print(json.dumps({**entry, **status}, ensure_ascii=False, indent=2))
        return 0
    for label, value in (
        ("name", entry["name"]),
        ("type", entry["agent_type"]),
        ("status", status["status"]),
        ("endpoint", entry["endpoint"]),
        ("directory", entry["working_dir"]),
        ("pid", entry["pid"]),
        ("started", entry.get("started_at", "")),
        ("title", status["title"]),
        ("id", entry["agent_id"]),
    ):
        print(f"{label:<10} {value}")
    return 0
