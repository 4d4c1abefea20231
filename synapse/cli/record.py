"""`synapse record`: record a running agent's session as a golden case."""

import gzip
import json
import os
from typing import Any

from synapse.cli.shared.agents import find_agent_here
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser
from synapse.errors import SynapseError
from synapse.peers import control


def parser() -> Parser:
    found = Parser(
        "synapse record",
        "Record a running agent until Ctrl-C, as a golden case: its bytes (asciicast), the "
        "status timeline and the replies that Synapse recognised. Check them before you commit them.",
    ).add_agent()
    found.add_argument("folder", help="a new folder for the case, such as tests/recordings/claude/new-case")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    entry = find_agent_here(options.target)
    try:
        os.makedirs(options.folder)
    except OSError as error:
        raise SynapseError(
            f"cannot create {options.folder} ({error.strerror}): name a new folder."
        ) from error
    lines: list[str] = []
    try:
        for line in control.stream(entry, "/terminal/recording"):
            if not lines:  # from here on everything is recorded
                say(f"recording {entry['name']} into {options.folder}; Ctrl-C ends it", flush=True)
            lines.append(line)
    except KeyboardInterrupt:
        pass
    _write(options.folder, lines)
    say(f"{max(len(lines) - 1, 0)} events recorded")
    return 0


def _write(folder: str, lines: list[str]) -> None:
    events: list[Any] = [json.loads(line) for line in lines[1:]]
    with gzip.open(os.path.join(folder, "session.cast.gz"), "wt", encoding="utf-8") as file:
        file.writelines(lines)
    marks = [(event[0], event[2]) for event in events if event[1] == "m"]
    statuses = [[at, text[7:]] for at, text in marks if text.startswith("status ")]
    turns = [json.loads(text[5:]) for _, text in marks if text.startswith("turn {")]
    for name, value in (("timeline.json", statuses), ("replies.json", turns)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=1)
            file.write("\n")
