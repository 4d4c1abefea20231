"""A question of an agent, as everybody who may answer it sees it. Plain data."""

import re
from dataclasses import dataclass
from typing import Any

from synapse.base.digest import sha256_hex
from synapse.event_emitter import timestamp
from synapse.watch.screen.questions import InputPrompt

UNREAD = "unknown"  # the type of a question that the screen shows in no known form
SHOWN = 12  # rows of such a question that are shown

_LAYOUT = re.compile(r"[\s│]+")  # what another width of the terminal changes


@dataclass(frozen=True)
class Question:
    """`task` is the task that the agent works on; None in the human's own turn. `asked_at` is wall clock."""

    id: str
    agent: str
    prompt: InputPrompt
    asked_at: float
    task: str | None = None

    @property
    def is_secret(self) -> bool:
        return self.prompt.input_type == "password"

    @property
    def text(self) -> str:
        """The question and what it is about, for a human."""
        return self.prompt.text

    @property
    def options(self) -> list[dict[str, str]]:
        """What can be answered: an option's key, its label, or its number in this list."""
        keys = self.prompt.keys or {}
        return [{"key": keys.get(label, label), "label": label} for label in self.prompt.options or ()]

    def to_dict(self) -> dict[str, Any]:
        prompt = self.prompt
        found: dict[str, Any] = {
            "id": self.id,
            "agent": self.agent,
            "task": self.task,
            "type": prompt.input_type,
            "subject": prompt.subject,
            "detail": prompt.detail,
            "question": prompt.question or prompt.prompt_text,
            "text": self.text,
            "options": self.options,
            "asked_at": timestamp(self.asked_at),
        }
        more = {"default": prompt.default, "permission": prompt.permission, "unseen": prompt.unseen}
        return found | {name: value for name, value in more.items() if value}

    def to_prompt(self) -> dict[str, Any]:
        """As `prompt` of its task."""
        return {"id": self.id, **self.prompt.to_a2a_format(), "asked_at": timestamp(self.asked_at)}


def unread(rows: list[str]) -> InputPrompt:
    """The question of an agent that says that it asks something, if its screen shows none that is known."""
    shown = [row.rstrip() for row in rows if row.strip()][-SHOWN:]
    asked = "it asks something that Synapse cannot read: look at its screen, and answer there"
    return InputPrompt(asked, UNREAD, detail="\n".join(shown) or None)


def fingerprint(prompt: InputPrompt) -> str:
    """The same for two prompts that ask the same, whatever the width of the terminal is."""
    if prompt.input_type == UNREAD:
        return UNREAD
    texts = (prompt.input_type, prompt.prompt_text, prompt.subject, prompt.detail, *(prompt.options or ()))
    return sha256_hex("\0".join(_LAYOUT.sub("", text or "") for text in texts))[:32]
