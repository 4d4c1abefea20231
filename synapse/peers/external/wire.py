"""What is said to an agent elsewhere in each protocol, and what its answers mean. Pure: JSON in, JSON out.

Answers become events of our own dialect (`status`, `artifact`), so that a task is followed in one way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from synapse.errors import Refused, SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.task import A2AMessage, A2ATask, Json, state_word

EXTENSION = "x-synapse-task"  # the key of what the standard has no field for
Event = tuple[str, Json]
TASK, MESSAGE, STATUS, ARTIFACT = "task", "message", "status", "artifact"  # what an answer may hold
_RPC = {
    "1.0": {
        "send": "SendMessage",
        "stream": "SendStreamingMessage",
        "get": "GetTask",
        "cancel": "CancelTask",
        "subscribe": "SubscribeToTask",
    },
    "0.3": {
        "send": "message/send",
        "stream": "message/stream",
        "get": "tasks/get",
        "cancel": "tasks/cancel",
        "subscribe": "tasks/resubscribe",
    },
}


class Call(NamedTuple):
    method: str
    url: str
    body: Json | None
    headers: dict[str, str]


class Wire:
    """The calls of one agent's protocol."""

    def __init__(self, agent: ExternalAgent) -> None:
        self._agent = agent
        self._old = agent.protocol == "old"
        self._new = agent.protocol == "1.0"
        self._rpc = agent.binding == "JSONRPC" and not self._old

    def send(self, message: Json, wait: bool) -> Call:
        if self._old:
            return self._rest("POST", "/tasks/send", message)
        now = {"returnImmediately": not wait} if self._new else {"blocking": wait}
        return self._standard("send", "POST", "/message:send", {**message, "configuration": now})

    def stream(self, message: Json) -> Call:
        return self._standard("stream", "POST", "/message:stream", message)

    def get(self, task_id: str) -> Call:
        return self._of_task("get", "GET", task_id, "")

    def cancel(self, task_id: str) -> Call:
        return self._of_task("cancel", "POST", task_id, "/cancel" if self._old else ":cancel")

    def subscribe(self, task_id: str) -> Call:
        return self._of_task("subscribe", "GET", task_id, ":subscribe")

    def input(self, task_id: str, text: str, metadata: Json) -> Call:
        """The answer to what a task asks, in the old dialect; elsewhere a message to the task is one."""
        sender = metadata.get(EXTENSION, {}).get("sender")
        body = {"input": text, **({"sender": sender} if sender else {})}
        return self._rest("POST", f"/tasks/{quote(task_id, safe='')}/input", body)

    def message(
        self, message: A2AMessage, message_id: str, metadata: Json, context_id: str = "", task_id: str = ""
    ) -> Json:
        """The body that carries a message; with `task_id`, to a task that is there."""
        if self._old:
            body: Json = {"id": task_id or message_id, "request_id": message_id, "message": message.to_dict()}
            ours = metadata.get(EXTENSION, {})
            more: Json = {"sender": ours.get("sender"), "metadata": metadata}
            more |= {"context_id": context_id, "task_id": task_id}
            return body | {key: value for key, value in more.items() if value}
        said: Json = {"messageId": message_id}
        parts = [self._part(part) for part in message.parts]
        if self._new:
            said |= {"role": "ROLE_USER", "parts": parts}
        elif self._rpc:
            said |= {"kind": "message", "role": "user", "parts": parts}
        else:
            said |= {"role": "ROLE_USER", "content": parts}
        more = {"contextId": context_id, "taskId": task_id, "metadata": metadata}
        return {"message": said | {key: value for key, value in more.items() if value}}

    def _part(self, part: Json) -> Json:
        kind = part.get("type", "text")
        if kind == "text":
            return (
                {"kind": "text", "text": part["text"]}
                if self._rpc and not self._new
                else {"text": part["text"]}
            )
        if kind == "data":
            if self._new:
                return {"data": part["data"]}
            return {"kind": "data", "data": part["data"]} if self._rpc else {"data": {"data": part["data"]}}
        raise SynapseError(f"a part of type {kind} is not sent to agents elsewhere: send text, or data.")

    def _standard(self, name: str, method: str, path: str, body: Json | None) -> Call:
        if self._rpc:
            rpc = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": _RPC[self._agent.protocol][name],
                "params": body or {},
            }
            return Call("POST", self._agent.endpoint, rpc, self._headers())
        return self._rest(method, path if self._new else f"/v1{path}", body)

    def _rest(self, method: str, path: str, body: Json | None) -> Call:
        return Call(method, self._agent.endpoint.rstrip("/") + path, body, self._headers())

    def _of_task(self, name: str, method: str, task_id: str, path: str) -> Call:
        place = f"/tasks/{quote(task_id, safe='')}{path}"
        if self._old:
            return self._rest(method, place, None)
        if self._rpc:
            return self._standard(name, method, place, {"id": task_id})
        return self._standard(name, method, place, {} if method == "POST" else None)

    def _headers(self) -> dict[str, str]:
        return {} if self._old else {"A2A-Version": self._agent.protocol}

    # --- answers ------------------------------------------------------------------------------------------

    def result(self, answer: object) -> Json:
        """What an answer holds. Raises Refused for an error, SynapseError for nonsense."""
        name = self._agent.alias
        if not isinstance(answer, dict):
            raise SynapseError(f"{name} answered something that is no JSON object.")
        if (error := answer.get("error")) and (self._rpc or "id" not in answer):
            said = error if isinstance(error, dict) else {"message": error}
            raise Refused(
                f"{name} refused: {str(said.get('message') or said)[:500]}", str(said.get("code") or "")
            )
        if not self._rpc:
            return answer
        found = answer.get("result")
        if not isinstance(found, dict):
            raise SynapseError(f"{name} answered without a result.")
        return found


def task_of(result: Json) -> A2ATask:
    """The task that an answer holds, or one made of a bare message."""
    task = A2ATask("")
    for event, data in events_of(result):
        task.id = task.id or str(data.get("taskId") or "")
        task.context_id = task.context_id or str(data.get("contextId") or "")
        task.take(event, data)
    return task


def events_of(result: Json) -> Iterator[Event]:
    """An answer or a piece of a stream, of any version, as events of our dialect."""
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
    if isinstance(task := result.get("task"), dict):
        return TASK, task
    if isinstance(message := result.get("message") or result.get("msg"), dict) and "status" not in result:
        return MESSAGE, message
    for key, kind in (("statusUpdate", STATUS), ("artifactUpdate", ARTIFACT)):
        if isinstance(update := result.get(key), dict):
            return kind, update
    kinds = {"status-update": STATUS, "artifact-update": ARTIFACT, "message": MESSAGE}
    if (said := result.get("kind")) in kinds:
        return kinds[str(said)], result
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
    message = status.get("message") or status.get("update")
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
        name = str(artifact.get("artifactId") or artifact.get("artifact_id") or artifact.get("name") or "")
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
    parts = held.get("parts") or held.get("content")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _part_from(part: Json) -> Json:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if "data" in part:
        data: Any = part["data"]
        inner = data.get("data") if isinstance(data, dict) and set(data) == {"data"} else None
        return {"type": "data", "data": inner if isinstance(inner, dict) else data}
    held = part["file"] if isinstance(part.get("file"), dict) else part
    names = {
        "name": ("name", "filename"),
        "mime_type": ("mimeType", "mediaType", "mime_type"),
        "bytes": ("bytes", "raw", "fileWithBytes"),
        "uri": ("uri", "url", "fileWithUri"),
    }
    found: Json = {"type": "file"}
    for key, others in names.items():
        value = next((held[other] for other in others if isinstance(held.get(other), str)), None)
        if value:
            found[key] = value
    return found
