"""Lines for agents: which lines are for an agent, and their parts. Pure."""

import re

from synapse.keys.commands import Command, CommandParser, Refusal

_ADDRESS = re.compile(r"@([\w-]+(?:@[\w.-]+)?)(?:\s|\Z)")


class AgentLines:
    """`waits`: whether to wait for the reply when no flag of the line decides it."""

    def __init__(self, pattern: str, waits: bool) -> None:
        self._parser = CommandParser(pattern)
        self._waits = waits

    def is_for_agent(self, line: str) -> bool:
        return _ADDRESS.match(line) is not None or self._parser.split(line) is not None

    def parse(self, line: str) -> Command | Refusal:
        """Parse a line that `is_for_agent`. Its last word may be a flag that decides whether to wait."""
        line = re.sub(r"\\\n", "\n", line)
        found = self._parser.parse(line, wait=self._waits, last_too=True)
        if found is None:
            name = line.split(maxsplit=1)[0].lstrip("@")
            return Refusal(name=name, line=line, enter=b"", reason=f"there is no message for {name}")
        return found


def is_whole(line: str) -> bool:
    """Whether a line is complete: a backslash at its end continues it."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 0
