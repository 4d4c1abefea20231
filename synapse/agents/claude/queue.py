"""The prompts that Claude Code keeps while a turn runs.

In 2.1.326 the hook `UserPromptSubmit` comes when a prompt is queued, and not again when its turn begins. The
transcript says what becomes of it: `enqueue`; then `dequeue` when it begins a turn of its own, or `remove`
when it is added to the running turn, after a tool.
"""

from collections.abc import Mapping
from typing import Any

from synapse.agents.base import text_of

QUEUED_WITHIN = 0.5  # seconds from the hook to the line that says that the prompt was queued


class PromptQueue:
    def __init__(self) -> None:
        self._told: list[tuple[str, float]] = []  # prompts of which a hook told during a turn, and when
        self._queued: list[str] = []  # those in the CLI's queue, as the transcript says
        self._taken: list[str] = []  # those that it has taken out to begin a turn

    def told(self, prompt: str, now: float) -> None:
        self._told.append((prompt, now))

    def line(self, line: Mapping[str, Any]) -> str:
        """Take a line of the transcript. Returns the prompt that was added to the running turn, if any."""
        if line.get("type") != "queue-operation":
            return ""
        operation, prompt = line.get("operation"), text_of(line.get("content"))
        if operation == "enqueue":
            self._queued.append(prompt)
        elif operation == "dequeue" and self._queued:
            self._taken.append(self._queued.pop(0))
        elif operation == "remove" and prompt in self._queued:
            self._queued.remove(prompt)
            return prompt if self._drop(prompt) else ""
        elif operation not in ("dequeue", "remove"):  # the human has taken them all back
            for queued in self._queued:
                self._drop(queued)
            self._queued.clear()
        return ""

    def next(self, is_running: bool, now: float) -> str | None:
        """The prompt whose turn has begun: taken out of the queue after the last turn, or never queued."""
        for prompt, at in self._told:
            was_taken = any(_same(prompt, taken) for taken in self._taken)
            is_queued = was_taken or any(_same(prompt, queued) for queued in self._queued)
            if (was_taken and not is_running) or (not is_queued and now - at >= QUEUED_WITHIN):
                self._drop(prompt)
                self._taken = [taken for taken in self._taken if not _same(prompt, taken)]
                return prompt
        return None

    def clear(self) -> None:
        self._told, self._queued, self._taken = [], [], []

    def _drop(self, prompt: str) -> bool:
        """Whether a hook has told of it."""
        found = next((told for told in self._told if _same(told[0], prompt)), None)
        if found is not None:
            self._told.remove(found)
        return found is not None


def _same(one: str, other: str) -> bool:
    return one.split() == other.split()
