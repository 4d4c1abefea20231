"""Which prompts both files of Qwen Code have, so that the chat file can take over when events are lost."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from synapse.agents.qwen.chats import is_prompt, text_in

_REMEMBERED = 20  # prompts of the events that the chat file does not have yet


class Matching:
    """The chat file lags behind the events, so it has each prompt later, unless the events have lost it."""

    def __init__(self) -> None:
        self._due: deque[str] = deque(maxlen=_REMEMBERED)  # the chat file does not have them yet
        self._records: list[Mapping[str, Any]] = []  # of the last turn in the chat file
        self.lacks_event = False  # the prompt of these is not among the events

    def event(self, prompt: str) -> None:
        if self.lacks_event and self._records and is_same(text_in(self._records[0]), prompt):
            self.lacks_event = False
        else:
            self._due.append(prompt)

    def is_known(self, prompt: str) -> bool:
        """Whether the events have a prompt that the chat file has now."""
        found = next((number for number, text in enumerate(self._due) if is_same(text, prompt)), None)
        for _ in range(-1 if found is None else found + 1):
            self._due.popleft()
        return found is not None

    def record(self, record: Mapping[str, Any]) -> None:
        """Keep it: the events are read."""
        if is_prompt(record):
            self._records, self.lacks_event = [record], not self.is_known(text_in(record))
        elif self._records:
            self._records.append(record)

    def take(self) -> list[Mapping[str, Any]]:
        """What is in the chat file about the turn that runs, once."""
        records, self._records = self._records, []
        if self.lacks_event:
            self.lacks_event = False
            return records
        return [] if self._due else records[1:]  # else they are of an earlier turn


def is_same(prompt: str, other: str) -> bool:
    """One of them may have the contents of files behind it."""
    shorter, longer = sorted((prompt.split(), other.split()), key=len)
    return longer[: len(shorter)] == shorter
