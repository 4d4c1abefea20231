"""`synapse status`: what one agent is doing."""

from __future__ import annotations

import argparse
import json

from synapse.cli.target import find_agent
from synapse.peers import control


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="synapse status", description="Say what one agent is doing.")
    parser.add_argument("target", help="a name, a type, type-port, or the beginning of an id")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
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
