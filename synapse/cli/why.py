"""`synapse why`: an agent's status, the evidence for it with ages, and what would change it."""

import time
from typing import Any

from synapse.cli.list import limit_end
from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.output import show
from synapse.cli.shared.page import RED, Page
from synapse.cli.shared.parser import Parser
from synapse.peers import control
from synapse.registry import STATUSES
from synapse.terminal.cells import crop

EVIDENCE = 4  # spaces before the second row of an evidence
HELP = "Explain why Synapse considers an agent READY, PROCESSING or INPUT_REQUIRED."


def parser() -> Parser:
    return Parser("synapse why", HELP).add_agent().add_json()


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    entry = find_agent(options.target)
    why: dict[str, Any] = control.call(entry, "GET", "/why")
    page = Page()
    return show(options.json, why, (_drawn(page, line) for line in _lines(str(entry["name"]), why)))


def _drawn(page: Page, line: str) -> str:
    """A line that fits, with the status or the word `error` in its colour."""
    word = next((word for word in line.split() if word.rstrip(":") in (*STATUSES, "error")), "").rstrip(":")
    indent = EVIDENCE if line.startswith("  ") else 2
    return page.line(line, indent, word, RED if word == "error" else "")


def _composer(seen: dict[str, Any]) -> str:
    text = "" if seen["text"] is None else f": {crop(seen['text'], 60)!r}"
    return f"composer: {seen['state']}{text} ({seen['why']})"


def _lines(name: str, why: dict[str, Any]) -> list[str]:
    lines = [f"{name} is {why['status']}: {why['reason']} (confidence {why['confidence']:.0%})"]
    if prompt := why["prompt"]:
        asks = "its human has opened a menu" if why.get("menu") else "it asks"
        lines += ["", f"{asks}: {prompt['prompt']}"]
        lines += [f"  {option}" for option in prompt["options"] or []]
    lines += ["", _composer(why["composer"]), "evidence, the most trusted first:"]
    for item in why["evidence"]:
        says = " or ".join(item["says"])
        lines.append(f"  {item['source']:<10} {says:<24} {item['age']:>7.1f} s ago  {item['why']}")
    if not why["evidence"]:
        lines.append("  none yet")
    if why["overruled_in"] is not None:
        lines.append(f"in {why['overruled_in']:.1f} s this wins if nothing changes: {why['against'][0]}")
    elif why["against"]:
        lines.append(f"against it, too weak to win: {why['against'][0]}")
    lines += [f"missing: {missing}" for missing in why["missing"]]
    lines += [f"note: {note}" for note in why.get("notes", [])]
    if why["channel"] == "none":
        lines.append("this CLI has no channel: its status is read from the screen and from quiet times")
    if why.get("limited_until"):
        lines.append(f"its CLI is at its usage limit until {limit_end(why['limited_until'], time.time())}")
    if why["error"]:
        lines.append(f"error: {why['error']['message']}")
    return lines
