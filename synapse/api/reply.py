"""What `ask` returns: the text that an agent replied, and what belongs to it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

from synapse.errors import SynapseError
from synapse.peers.task import A2ATask

_UNREAD = object()


class NoData(SynapseError):
    """The reply has no data: it is neither JSON nor a text with one piece of JSON. `what` it has instead."""

    def __init__(self, sentence: str, what: str = "it has no data") -> None:
        super().__init__(sentence)
        self.what = what


class WithMetadata(Protocol):
    """A task, as its sender or its agent has it."""

    metadata: dict[str, Any]


class Usage(NamedTuple):
    """The tokens of a turn, as the agent's CLI reports them."""

    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __bool__(self) -> bool:
        return bool(self.tokens)


class Reply(str):
    """The reply is a string. `task` is the task that it ended; `agent` is the name of the agent."""

    task: A2ATask
    agent: str
    _data: Any = _UNREAD

    @classmethod
    def of(cls, task: A2ATask) -> Reply:
        reply = cls(task.text)
        reply.task, reply.agent = task, task.agent
        return reply

    def with_data(self, data: Any) -> Reply:
        """The same reply, whose data has been read already."""
        reply = Reply.of(self.task)
        reply._data = data
        return reply

    @property
    def text(self) -> str:
        return str(self)

    @property
    def data(self) -> Any:
        """The data of the reply: of a data part, of the text as JSON, or of the only JSON in it.

        Raises NoData."""
        if self._data is not _UNREAD:
            return self._data
        for artifact in self.task.artifacts:
            if (artifact.get("metadata") or {}).get("derived"):
                continue
            for part in artifact.get("parts", ()):
                if part.get("type") == "data" and "data" in part:
                    return part["data"]
        return data_in(str(self))

    @property
    def usage(self) -> Usage:
        """Zero if the CLI does not report it."""
        return usage_of(self.task)


def usage_of(task: WithMetadata) -> Usage:
    turn = task.metadata.get("turn")
    said = turn.get("usage") if isinstance(turn, dict) else None
    if not isinstance(said, dict):
        return Usage()
    counts = (said.get(name) for name in Usage._fields)
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))


def data_in(text: str) -> Any:
    """The JSON in a text: the whole text, or the only object or block of JSON in it. Raises NoData."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    from synapse.output_parser import OutputParser

    found = []
    for piece in OutputParser().parse(text):
        if piece.metadata.get("language", "json").lower() not in ("json", "text"):
            continue
        try:
            found.append(json.loads(piece.content))
        except (ValueError, RecursionError):
            continue
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} JSON documents, not one" if found else "no JSON document"
    raise NoData(f"the reply has {what}: ask for one JSON document, or use `schema=`.", f"it has {what}")
