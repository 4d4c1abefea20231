"""Responses of other agents as the events (`status`, `artifact`) that `A2ATask.take` reads.

There are two forms: the JSON of A2A 1.0 (the SDK converts 0.3 to it), and the specifications' dialect.
"""

from collections.abc import Iterator

from synapse.base.states import INPUT_REQUIRED
from synapse.peers.task import A2ATask, Json, objects, state_word

TASK, MESSAGE = "task", "message"
Event = tuple[str, Json]
_FILE = {
    "name": ("name", "filename"), "mime_type": ("mediaType", "mime_type"), "bytes": ("raw", "bytes"),
    "uri": ("url", "uri"),
}  # fmt: skip


def task_of(result: Json, task_id: str) -> A2ATask:
    """The task in a response; it has `task_id` if the response names none."""
    task = A2ATask("")
    for event, data in events_of(result):
        task.id = task.id or str(data.get("taskId") or "")
        task.context_id = task.context_id or str(data.get("contextId") or "")
        task.take(event, data)
    task.id = task.id or task_id
    return task


def events_of(result: Json) -> Iterator[Event]:
    kind = kind_of(result)
    held = result.get(kind)
    return _READERS[kind](held if isinstance(held, dict) else result) if kind else iter(())


def kind_of(result: Json) -> str:
    """TASK, MESSAGE, statusUpdate, artifactUpdate, or "". The dialect's task has a `message` too."""
    for kind in _READERS:
        if isinstance(result.get(kind), dict) and (kind != MESSAGE or "status" not in result):
            return kind
    return TASK if "status" in result or "state" in result else ""


def _task_events(task: Json) -> Iterator[Event]:
    """The artifacts first: a reader stops at the final status."""
    ids = {"taskId": task.get("id"), "contextId": task.get("contextId") or task.get("context_id")}
    for number, artifact in enumerate(objects(task.get("artifacts"))):
        name = artifact.get("artifactId") or artifact.get("name") or str(number)
        yield from _artifact({**ids, "artifact": {**artifact, "artifactId": name}})
    status = task.get("status") or task.get("state")
    if not isinstance(status, dict):
        more = {key: task.get(key) for key in ("prompt", "error", "note")}
        status = {"state": status, **more}
    yield from _status({**ids, "status": status})


def _message_events(message: Json) -> Iterator[Event]:
    """An agent may answer with a message, without a task."""
    ids = {"taskId": message.get("taskId") or message.get("messageId"), "contextId": message.get("contextId")}
    yield from _artifact({**ids, "artifact": {"artifactId": "reply", "parts": message.get("parts")}})
    yield "status", {**ids, "state": "completed"}


def _status(update: Json) -> Iterator[Event]:
    status = update.get("status")
    status = status if isinstance(status, dict) else {}
    state = state_word(status.get("state"))
    data: Json = {"taskId": update.get("taskId"), "contextId": update.get("contextId"), "state": state}
    data["timestamp"] = status.get("timestamp")
    data |= {key: status[key] for key in ("prompt", "error") if isinstance(status.get(key), dict)}
    message = status.get("message")
    parts = _parts(message) if isinstance(message, dict) else []
    text = "\n".join(str(part["text"]) for part in parts if "text" in part)
    asked: Json = next((part["data"] for part in parts if isinstance(part.get("data"), dict)), {})
    if state == INPUT_REQUIRED and "prompt" not in data:
        data["prompt"] = {"type": "text", "prompt": text, **asked}
    elif state == "failed" and "error" not in data:
        data["error"] = {"code": "AGENT_ERROR", "message": text or "the agent failed"}
    elif text or isinstance(status.get("note"), str):
        data["note"] = text or status["note"]
    yield "status", data


def _artifact(update: Json) -> Iterator[Event]:
    artifact = update.get("artifact")
    if not isinstance(artifact, dict):
        return
    parts = _parts(artifact)
    if not parts and isinstance(artifact.get("data"), str):
        parts = [{"type": "text", "text": artifact["data"]}]
    name = str(artifact.get("artifactId") or artifact.get("name") or "")
    made: Json = {"type": str(artifact.get("type") or "text"), "name": str(artifact.get("name") or name)}
    made["parts"] = parts
    if isinstance(artifact.get("metadata"), dict):
        made["metadata"] = artifact["metadata"]
    data: Json = {"taskId": update.get("taskId"), "contextId": update.get("contextId"), "artifactId": name}
    yield "artifact", data | {"artifact": made, "append": update.get("append") is True}


_READERS = {
    TASK: _task_events,
    MESSAGE: _message_events,
    "statusUpdate": _status,
    "artifactUpdate": _artifact,
}


def _parts(held: Json) -> list[Json]:
    return [_part(part) for part in objects(held.get("parts"))]


def _part(part: Json) -> Json:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if "data" in part:
        return {"type": "data", "data": part["data"]}
    held = part["file"] if isinstance(part.get("file"), dict) else part
    found: Json = {"type": "file"}
    for key, names in _FILE.items():
        if value := next((held[name] for name in names if isinstance(held.get(name), str)), None):
            found[key] = value
    return found
