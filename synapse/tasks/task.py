"""One task: a message for the agent, its state and its errors. Plain data.

Messages and parts have one form, whichever protocol they came by:
`{"role": "user", "parts": [{"type": "text", "text": …}, {"type": "data", "data": …},
{"type": "file", "name": …, "mime_type": …, "bytes": <base64> | "uri": …}], "message_id": …, "metadata": …}`.
"""

import json
import sys
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from synapse.base.states import END_STATES, FAILED, REJECTED, SUBMITTED
from synapse.base.text import for_line
from synapse.event_emitter import timestamp

PART_TYPES = ("text", "data", "file")
DEPTH = 100  # of nested lists and objects
# A sender's name or id: no control characters, no brackets, which end a mark, nothing that reorders a line.
SENDER = r"[^\x00-\x1f\x7f-\x9f\[\]\u061c\u2028-\u202e\u2066-\u2069]+"
QUESTION = "x-synapse-question"  # in an answer's metadata: the id of the question that it is for
REPLY = "reply"  # the id of the artifact with the agent's reply

Json = dict[str, Any]
GONE: Json = {"code": "AGENT_GONE", "message": "the agent ended before the task did"}


class TaskError(Exception):
    """The reason why a request is refused, as a sentence. `code` names the kind for programs."""

    code = "REFUSED"


class TaskNotFound(TaskError):
    code = "TASK_NOT_FOUND"


class WrongState(TaskError):
    code = "WRONG_STATE"


class NotCancelable(WrongState):
    code = "NOT_CANCELABLE"


class BadMessage(TaskError):
    code = "BAD_MESSAGE"


class TooLarge(BadMessage):
    code = "MESSAGE_TOO_LARGE"


class QueueFull(TaskError):
    code = "QUEUE_FULL"


class NotAllowed(TaskError):
    code = "NOT_ALLOWED"


class LoopRefused(TaskError):
    """Agents send each other messages in a loop, or too often."""

    code = "LOOP"

    def __init__(self, sentence: str, too_often: bool = False) -> None:
        super().__init__(sentence)
        self.status = 429 if too_often else 409


class OverBudget(TaskError):
    """The agents of a conversation have used what they may."""

    code = "BUDGET"
    status = 409


class StoreFailed(TaskError):
    code = "STORE_FAILED"


class StoreGone(StoreFailed):
    """Somebody removed the folder."""

    code = "STORE_GONE"


class AgentGone(TaskError):
    """The agent has ended and takes no more tasks."""

    code = GONE["code"]


@dataclass(eq=False)  # queues compare by identity
class Task:
    id: str
    context_id: str
    message: Json
    run: str = ""
    state: str = SUBMITTED
    priority: int = 1
    arrival: int = 0
    sender: Json | None = None  # {"id": …, "name": …}, if it is known
    created_at: float = 0.0
    updated_at: float = 0.0
    artifacts: list[Json] = field(default_factory=list)
    history: list[Json] = field(default_factory=list)  # the messages after the first, of both sides
    # Messages that the agent has not got yet; with a `sender` if it is not the task's.
    pending: list[Json] = field(default_factory=list)
    prompt: Json | None = None
    error: Json | None = None
    note: str = ""  # for humans: why it waits, or why it was canceled
    metadata: Json = field(default_factory=dict)
    receipts: list[Json] = field(default_factory=list)
    sequence: int = 0  # of its last event
    request_id: str | None = None  # two requests with the same id are one task
    expires_at: float = 0.0  # when it fails if the agent has not got it; 0: never
    cancel_wanted: bool = False
    at_work: bool = False  # the agent has a message of it, and the turn has not ended

    @property
    def ended(self) -> bool:
        return self.state in END_STATES

    @property
    def short_id(self) -> str:
        return self.id[:8]

    @property
    def reply(self) -> str:
        return "".join(
            str(part.get("text", ""))
            for artifact in self.artifacts
            if artifact.get("artifact_id") == REPLY
            for part in artifact["parts"]
        )

    def take_artifact(self, artifact: Json, append: bool) -> None:
        ids = [known["artifact_id"] for known in self.artifacts]
        place = ids.index(artifact["artifact_id"]) if artifact["artifact_id"] in ids else len(ids)
        if append and place < len(ids):
            self.artifacts[place]["parts"].extend(artifact["parts"])
        else:
            self.artifacts[place : place + 1] = [{**artifact, "parts": list(artifact["parts"])}]

    def to_dict(self) -> Json:
        """The task as the specification's dialect has it."""
        state = FAILED if self.state == REJECTED else self.state
        found: Json = {
            "id": self.id,
            "context_id": self.context_id,
            "status": state,
            "state": state,
            "message": self.message,
            "artifacts": [artifact_to_dict(artifact) for artifact in self.artifacts],
            "priority": self.priority,
            "created_at": timestamp(self.created_at),
            "updated_at": timestamp(self.updated_at),
        }
        if self.expires_at:
            found["expires_at"] = timestamp(self.expires_at)
        optional = ("prompt", "error", "sender", "note", "metadata", "receipts")
        return found | {name: value for name in optional if (value := getattr(self, name))}


def task_of_document(document: Json) -> Task:
    """The task of a document that `to_dict` made on another machine. Fields of another type are left out."""
    task = Task(str(document.get("id") or ""), str(document.get("context_id") or ""), {})
    task.state = str(document.get("state") or SUBMITTED)
    kinds = {"message": dict, "priority": int, "prompt": dict, "error": dict, "sender": dict, "note": str}
    for name, kind in {**kinds, "metadata": dict, "receipts": list}.items():
        if isinstance(value := document.get(name), kind):
            setattr(task, name, value)
    for name in ("created_at", "updated_at"):
        try:
            setattr(task, name, datetime.fromisoformat(str(document.get(name))).timestamp())
        except ValueError:
            continue
    for number, artifact in enumerate(document.get("artifacts") or ()):
        derived = (artifact.get("metadata") or {}).get("derived")
        task.artifacts.append({**artifact, "artifact_id": f"derived-{number}" if derived else REPLY})
    return task


def artifact_to_dict(artifact: Json) -> Json:
    parts = joined(artifact["parts"])
    found = {"type": artifact.get("type", "text"), "name": artifact.get("name", "output"), "parts": parts}
    if len(parts) == 1 and parts[0].get("type") == "text":
        found["data"] = parts[0]["text"]
    if artifact.get("metadata"):
        found["metadata"] = artifact["metadata"]
    return found


def joined(parts: list[Json]) -> list[Json]:
    out: list[Json] = []
    for is_text, run in groupby(parts, lambda part: set(part) == {"type", "text"} and part["type"] == "text"):
        pieces = list(run)
        out += [{"type": "text", "text": "".join(p["text"] for p in pieces)}] if is_text else pieces
    return out


def text_message(text: str, role: str = "user", **more: Any) -> Json:
    return {"role": role, "parts": [{"type": "text", "text": text}], **more}


def message_text(message: Json) -> str:
    pieces = []
    for part in message.get("parts", ()):
        if part.get("type") == "text":
            pieces.append(part["text"])
        elif part.get("type") == "data":
            pieces.append("```json\n" + json.dumps(part["data"], ensure_ascii=False, indent=2) + "\n```")
        elif part.get("type") == "file":
            where = part.get("path") or part.get("uri") or "no content"
            pieces.append(f"File {part.get('name') or 'attached'}: {where}")
    return "\n\n".join(pieces)


def sender_id(sender: Json | None) -> str:
    """Its name or id in one line that is safe to print: stored tasks may have any text here."""
    said = str((sender or {}).get("name") or (sender or {}).get("id") or "user")
    return for_line(said)


def check_part(part: object) -> None:
    """Raises BadMessage for a part of an unknown form."""
    kind = part.get("type") if isinstance(part, dict) else part
    if not isinstance(part, dict) or kind not in PART_TYPES:
        raise BadMessage(f"a part of type {kind!r} is not known here: use text, data or file.")
    if kind == "text" and not isinstance(part.get("text"), str):
        raise BadMessage("a part of type text has no text.")
    if kind == "data" and "data" not in part:
        raise BadMessage("a part of type data has no data.")
    if kind == "file" and not any(isinstance(part.get(key), str) for key in ("bytes", "uri", "path")):
        raise BadMessage("a part of type file has neither bytes nor a uri.")


def message_size(message: Json) -> int:
    """The bytes of a message: of a text part the text, of other parts everything."""
    total = 0
    for part in message["parts"]:
        if part["type"] == "text":
            total += measured(part["text"])
            part = {key: value for key, value in part.items() if key not in ("type", "text")}
        total += measured(part)
    return total


def measured(value: Any) -> int:
    """The bytes of text in a value. Raises BadMessage for one that JSON cannot carry."""
    total, left = 0, [(value, 0)]
    while left:
        item, depth = left.pop()
        if depth > DEPTH:
            raise BadMessage(f"the message is nested more than {DEPTH} levels deep: send it as text.")
        if isinstance(item, str):
            total += len(item.encode("utf-8", "replace"))
        elif isinstance(item, dict):
            left += ((inner, depth + 1) for pair in item.items() for inner in pair)
        elif isinstance(item, list):
            left += ((inner, depth + 1) for inner in item)
        elif isinstance(item, int | float) and not abs(item) <= sys.float_info.max:
            raise BadMessage("the message holds a number that is not finite, or too large for a double.")
        else:
            total += 8
    return total


def mended(value: Any) -> Any:
    """The value with lone surrogates, which UTF-8 cannot encode, joined or replaced."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    elif isinstance(value, dict):
        return {mended(key): mended(inner) for key, inner in value.items()}
    elif isinstance(value, list):
        return [mended(inner) for inner in value]
    return value
