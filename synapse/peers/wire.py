"""What other agents answer, as the events (`status`, `artifact`) that `A2ATask.take` reads.

Pure. There are two forms: the JSON of A2A 1.0 (the SDK turns 0.3 into it), and the specifications' dialect.
"""

from __future__ import annotations

from collections.abc import Iterator

from synapse.peers.task import A2ATask, Json, state_word

EXTENSION = "x-synapse-task"  # the key of what the standard has no field for
Event = tuple[str, Json]
TASK, MESSAGE, STATUS, ARTIFACT = (
    "task",
    "message",
    "statusUpdate",
    "artifactUpdate",
)  # what an answer may hold


def task_of(result: Json) -> A2ATask:
    """The task that an answer holds, or one made of a bare message."""
    task = A2ATask("")
    for event, data in events_of(result):
        task.id = task.id or str(data.get("taskId") or "")
        task.context_id = task.context_id or str(data.get("contextId") or "")
        task.take(event, data)
    return task


def events_of(result: Json) -> Iterator[Event]:
    """An answer or a piece of a stream."""
    kind, held = _held(result)
    if kind == TASK:
        yield from _task_events(held)
    elif kind == MESSAGE:
        yield from _message_events(held)
    elif kind == STATUS:
        yield _status(held)
    elif kind == ARTIFACT:
        yield from _artifact(held)


def kind_of(result: Json) -> str:
    """TASK, MESSAGE, STATUS or ARTIFACT; nothing for what is none of them."""
    return _held(result)[0]


def _held(result: Json) -> tuple[str, Json]:
    for kind in (TASK, MESSAGE, STATUS, ARTIFACT):
        if isinstance(found := result.get(kind), dict) and (kind != MESSAGE or "status" not in result):
            return kind, found
    return (TASK, result) if "status" in result or "state" in result else ("", result)


def _task_events(task: Json) -> Iterator[Event]:
    """The artifacts first: readers leave at the end."""
    ids = {"taskId": task.get("id"), "contextId": task.get("contextId") or task.get("context_id")}
    artifacts = task.get("artifacts")
    for number, artifact in enumerate(artifacts if isinstance(artifacts, list) else ()):
        if isinstance(artifact, dict):
            name = artifact.get("artifactId") or artifact.get("name") or str(number)
            yield from _artifact({**ids, "artifact": {**artifact, "artifactId": name}})
    status = task.get("status") or task.get("state")
    said = status if isinstance(status, dict) else {"state": status, "prompt": task.get("prompt")}
    if not isinstance(status, dict) and task.get("error"):
        said["error"] = task["error"]
    yield _status({**ids, "status": said})


def _message_events(message: Json) -> Iterator[Event]:
    """An agent that answers at once, without a task."""
    ids = {"taskId": message.get("taskId") or message.get("messageId"), "contextId": message.get("contextId")}
    yield from _artifact({**ids, "artifact": {"artifactId": "reply", "parts": _parts(message)}})
    yield "status", {**ids, "state": "completed"}


def _status(update: Json) -> Event:
    status = update.get("status")
    status = status if isinstance(status, dict) else {}
    state = state_word(status.get("state"))
    data: Json = {"taskId": update.get("taskId"), "contextId": update.get("contextId"), "state": state}
    data["timestamp"] = status.get("timestamp")
    for key in ("prompt", "error"):
        if isinstance(status.get(key), dict):
            data[key] = status[key]
    message = status.get("message")
    parts = [_part_from(part) for part in _parts(message)] if isinstance(message, dict) else []
    text = "\n".join(str(part["text"]) for part in parts if "text" in part)
    asked: Json = next((part["data"] for part in parts if isinstance(part.get("data"), dict)), {})
    if state == "input_required" and "prompt" not in data:
        data["prompt"] = {"type": "text", "prompt": text, **asked}
    elif state == "failed" and "error" not in data:
        data["error"] = {"code": "AGENT_ERROR", "message": text or "the agent failed"}
    elif text:
        data["note"] = text
    return "status", data


def _artifact(update: Json) -> Iterator[Event]:
    artifact = update.get("artifact")
    if isinstance(artifact, dict):
        parts = [_part_from(part) for part in _parts(artifact)]
        if not parts and isinstance(artifact.get("data"), str):
            parts = [{"type": "text", "text": artifact["data"]}]
        name = str(artifact.get("artifactId") or artifact.get("name") or "")
        made: Json = {"type": str(artifact.get("type") or "text"), "name": str(artifact.get("name") or name)}
        made["parts"] = parts
        if isinstance(artifact.get("metadata"), dict):
            made["metadata"] = artifact["metadata"]
        ids = {"taskId": update.get("taskId"), "contextId": update.get("contextId")}
        yield (
            "artifact",
            {**ids, "artifactId": name, "artifact": made, "append": update.get("append") is True},
        )


def _parts(held: Json) -> list[Json]:
    parts = held.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _part_from(part: Json) -> Json:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if "data" in part:
        return {"type": "data", "data": part["data"]}
    held = part["file"] if isinstance(part.get("file"), dict) else part
    names = {
        "name": ("name", "filename"),
        "mime_type": ("mediaType", "mime_type"),
        "bytes": ("raw", "bytes"),
        "uri": ("url", "uri"),
    }
    found: Json = {"type": "file"}
    for key, others in names.items():
        value = next((held[other] for other in others if isinstance(held.get(other), str)), None)
        if value:
            found[key] = value
    return found
