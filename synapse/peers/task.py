"""A message and a task on the side of the sender."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synapse.base.states import END_STATES, INPUT_REQUIRED
from synapse.errors import WaitTimeout

Json = dict[str, Any]
OnEvent = Callable[[str, Json], None]  # the kinds and their data: docs/external.md

_KINDS = {"submitted": "queued", "working": "working", INPUT_REQUIRED: "asks"}
_STATES = {
    "cancelled": "canceled", "rejected": "failed", "auth_required": INPUT_REQUIRED,
    "unspecified": "submitted", "unknown": "working",
}  # fmt: skip
_FIELDS = {
    "created_at": str, "updated_at": str, "context_id": str, "note": str, "expires_at": str,
    "message": dict, "prompt": dict, "error": dict, "metadata": dict, "artifacts": list, "receipts": list,
}  # fmt: skip


@dataclass
class A2AMessage:
    role: str = "user"
    parts: list[Json] = field(default_factory=list)

    @classmethod
    def from_text(cls, text: str) -> A2AMessage:
        return cls("user", [{"type": "text", "text": text}])

    @classmethod
    def of(cls, message: str | A2AMessage) -> A2AMessage:
        return cls.from_text(message) if isinstance(message, str) else message

    @property
    def text(self) -> str:
        return "\n\n".join(str(part["text"]) for part in self.parts if part.get("type", "text") == "text")

    def to_dict(self) -> Json:
        return {"role": self.role, "parts": self.parts}


@dataclass
class A2ATask:
    """`status`: submitted, working, input_required, completed, failed or canceled."""

    id: str
    status: str = "submitted"
    message: Json = field(default_factory=dict)
    artifacts: list[Json] = field(default_factory=list)
    created_at: str = ""
    updated_at: str = ""
    context_id: str = ""
    prompt: Json | None = None  # what the agent asks
    error: Json | None = None  # code and message
    note: str = ""  # why it waits, why it was canceled
    expires_at: str = ""
    receipts: list[Json] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    _told: tuple[object, ...] = ()
    delivered: bool = False  # the agent has the message
    agent: str = ""  # whose task it is, where that is known: its name,
    address: str = ""  # and where `Directory.at` finds it

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> A2ATask:
        """From the dialect's JSON. Fields of another type are left out: other servers write it too."""
        status = document.get("status") or document.get("state")
        said = status.get("state") if isinstance(status, dict) else status
        task = cls(str(document.get("id") or ""), state_word(said))
        for name, kind in _FIELDS.items():
            if isinstance(value := document.get(name), kind):
                setattr(task, name, objects(value) if kind is list else value)
        return task

    def to_dict(self) -> Json:
        found: Json = {
            "id": self.id,
            "status": self.status,
            "state": self.status,
            "message": self.message,
            "artifacts": [_shown(artifact) for artifact in self.artifacts],
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        names = ("context_id", "prompt", "error", "note", "expires_at", "metadata", "receipts")
        return found | {name: value for name in names if (value := getattr(self, name))}

    @property
    def ended(self) -> bool:
        return self.status in END_STATES

    @property
    def asks(self) -> bool:
        return self.status == INPUT_REQUIRED

    @property
    def text(self) -> str:
        """What the agent said, without the artifacts that were derived from it."""
        texts = [_text_of(artifact) for artifact in self.artifacts if not _is_derived(artifact)]
        return "\n\n".join(text for text in texts if text)

    @property
    def waits_for(self) -> tuple[str, str]:
        """What the agent does with a task that has not ended, and why it waits, if that is known."""
        if self.asks:
            return "waits for an answer", str((self.prompt or {}).get("prompt") or "").strip()
        if self.status == "submitted" and self.id and not self.delivered:
            return "has not begun with it", self.note
        return ("is still working" if self.id else "has not answered"), self.note

    def take(self, event: str, data: Json) -> list[tuple[str, Json]]:
        """Apply one event of the dialect's stream. Returns what to report of it to `on_event`."""
        return [(kind, {"task_id": self.id, **told}) for kind, told in self._taken(event, data)]

    def _taken(self, event: str, data: Json) -> list[tuple[str, Json]]:
        if event == "status":
            return self._take_status(data)
        if event == "artifact" and isinstance(artifact := data.get("artifact"), dict):
            return self._take_artifact(artifact, data)
        if event == "receipt" and isinstance(receipt := data.get("receipt"), dict):
            if receipt not in self.receipts:  # a resumed stream may repeat events
                self.receipts.append(receipt)
            return self._deliver(receipt) if receipt.get("step") == "confirmed" else []
        return []

    def _take_status(self, data: Json) -> list[tuple[str, Json]]:
        self.status = state_word(data.get("state"))
        self.updated_at = str(data.get("timestamp") or self.updated_at)
        self.prompt, self.error = data.get("prompt"), data.get("error")
        self.note = str(data.get("note") or "")
        if isinstance(turn := data.get("turn"), dict):
            self.metadata["turn"] = turn
        told = (self.status, self.note, str(self.prompt))
        if told == self._told:  # a resumed stream may repeat events
            return []
        self._told = told
        begun = self._deliver({}) if self.status in ("working", INPUT_REQUIRED, "completed") else []
        if self.ended:
            return [*begun, ("done", {"state": self.status, "error": self.error, "note": self.note})]
        kind = _KINDS.get(self.status, "working")
        return [*begun, (kind, {"state": self.status, "prompt": self.prompt, "note": self.note})]

    def _deliver(self, receipt: Json) -> list[tuple[str, Json]]:
        if self.delivered:
            return []
        self.delivered = True
        return [("delivered", receipt)]

    def _take_artifact(self, artifact: Json, data: Json) -> list[tuple[str, Json]]:
        name = str(data.get("artifactId") or artifact.get("artifactId") or "")
        append = bool(data.get("append"))
        known = next((a for a in self.artifacts if name and a.get("artifactId") == name), None)
        pieces = objects(artifact.get("parts"))
        if known is not None and append:
            known["parts"] += pieces
        else:
            made = {key: value for key, value in artifact.items() if key != "data"}
            at = len(self.artifacts) if known is None else self.artifacts.index(known)
            self.artifacts[at : at + 1] = [made | {"artifactId": name, "parts": pieces}]
        if _is_derived(artifact):
            return []
        text = _joined(pieces)
        return [("partial", {"text": text, "append": append and known is not None})] if text else []


class StillWorking(WaitTimeout):
    """The wait is over and the task is not. Nothing was canceled."""

    def __init__(self, sentence: str, task: A2ATask) -> None:
        super().__init__(sentence)
        self.task = task

    @classmethod
    def after(cls, seconds: float, name: str, task: A2ATask, shows: str) -> StillWorking:
        """`name` is the agent's; `shows` is the command that shows the task, if it is known."""
        waits, why = task.waits_for
        goes_on = f" It goes on, and the reply is kept: `{shows}` shows it." if shows else ""
        return cls(f"{name} {waits} after {seconds:g} s{f' ({why})' if why else ''}.{goes_on}", task)


def state_word(said: object) -> str:
    """`TASK_STATE_INPUT_REQUIRED`, `input-required` and `input_required` are the same."""
    word = str(said or "submitted").lower().removeprefix("task_state_").replace("-", "_")
    return _STATES.get(word, word)


def objects(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _joined(parts: list[Json]) -> str:
    return "".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))


def _text_of(artifact: Json) -> str:
    if artifact.get("parts"):
        return _joined(objects(artifact["parts"]))
    data = artifact.get("data")
    return data if isinstance(data, str) else ""


def _is_derived(artifact: Json) -> bool:
    metadata = artifact.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("derived"))


def _shown(artifact: Json) -> Json:
    parts = artifact.get("parts")
    if not isinstance(parts, list) or not parts or not all(set(part) <= {"type", "text"} for part in parts):
        return artifact
    text = _joined(parts)
    return {**artifact, "parts": [{"type": "text", "text": text}], "data": text}
