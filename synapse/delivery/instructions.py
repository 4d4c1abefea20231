"""What an agent is told about the others with the first message it gets, if its CLI has no better way."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

from synapse.base import files

logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class Instructions:
    """Given once in a run of the agent; the file at `path` tells that to the next host of this run."""

    build: Callable[[], str]
    path: str
    run: str

    def __post_init__(self) -> None:
        self._given = self._left_behind()

    def due(self, lines: bool) -> str:
        """What to add to a message; empty if they were given. Without `lines` it is one line."""
        if self._given:
            return ""
        text = self.build()
        return f"\n\n{text}" if lines else f" {' '.join(text.split())}"

    def given(self) -> None:
        self._given = True
        try:
            files.replace(self.path, json.dumps({"run": self.run}).encode())
        except OSError as error:
            logger.warning("cannot keep that the agent has its instructions: %s", error)

    def _left_behind(self) -> bool:
        try:
            with open(self.path, encoding="utf-8") as file:
                return bool(json.load(file)["run"] == self.run)
        except (OSError, ValueError, KeyError, TypeError):
            return False
