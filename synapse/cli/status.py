"""`synapse status`: show what one agent is doing."""

from typing import Any

from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import Parser
from synapse.peers import control
from synapse.peers.prompts import plain_question
from synapse.registry import INPUT_REQUIRED

# Each label, and its key in the registry entry and the host's answer.
_SHOWN = {
    "name": "name", "type": "agent_type", "status": "status", "endpoint": "endpoint",
    "directory": "working_dir", "pid": "pid", "started": "started_at", "title": "title", "id": "agent_id",
}  # fmt: skip


def parser() -> Parser:
    return Parser("synapse status", "Show what one agent is doing.").add_agent().add_json()


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    entry = find_agent(options.target)
    document: dict[str, Any] = {**entry, **control.call(entry, "GET", "/status"), "name": entry["name"]}
    if document.get("status") == INPUT_REQUIRED:
        why = control.call(entry, "GET", "/why")
        document |= {"prompt": why.get("prompt"), "menu": why.get("menu", False)}
    lines = [f"{label:<10} {document.get(key, '')}" for label, key in _SHOWN.items()]
    if prompt := document.get("prompt"):
        asks = "its human has opened a menu" if document["menu"] else "it asks"
        lines.append(f"{asks}: {plain_question(prompt)}")
    return show(options.json, document, lines)
