"""Converts the engine's tasks into the standard's types, and the standard's messages into the engine's."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError, SerializeToJsonError
from google.protobuf.struct_pb2 import Struct

from synapse.base.states import END_STATES, INPUT_REQUIRED, STATES
from synapse.event_emitter import SSEEvent, timestamp
from synapse.tasks.expiry import EXTENSION, expires_in
from synapse.tasks.task import SENDER, BadMessage, Json, Task, joined

STOPS = END_STATES | {INPUT_REQUIRED}  # they end a stream and a call that waits

Made = TypeVar("Made")

_STATES = {state: pb.TaskState.Value(f"TASK_STATE_{state.upper()}") for state in STATES}
_STATES["auth_required"] = pb.TaskState.TASK_STATE_AUTH_REQUIRED
_NAMES = {number: state for state, number in _STATES.items()}
_ROLES = {"user": pb.Role.ROLE_USER, "agent": pb.Role.ROLE_AGENT}
# Our type of a part, and the key of its content, for each kind of the standard's parts.
_KINDS = {
    "text": ("text", "text"), "data": ("data", "data"), "raw": ("file", "bytes"), "url": ("file", "uri"),
}  # fmt: skip
_MESSAGE_FIELDS = ("metadata", "extensions", "reference_task_ids")
# What cannot be a protobuf value: it is nested too deeply, or has a number that no double can hold.
_UNFIT = (ParseError, ValueError, OverflowError)
_PART_FIELDS = {"filename": "name", "media_type": "mime_type", "metadata": "metadata"}
RECENT = 64  # events; listeners are seldom further apart
_HUGE = 2**53  # from here on, the standard's numbers are not exact integers


def shared(make: Callable[[Any], Made]) -> Callable[[Any], Made]:
    """`make` with a cache of its last results, by the identity of the argument."""
    known: dict[int, tuple[Any, Made]] = {}

    def get(thing: Any) -> Made:
        if id(thing) not in known:
            known[id(thing)] = thing, make(thing)  # with the object, so that its id is not used again
            if len(known) > RECENT:
                del known[next(iter(known))]
        return known[id(thing)][1]

    return get


def state_name(number: int) -> str:
    return _NAMES[number]


def message_from(message: pb.Message) -> Json:
    """The message as the engine stores it. Raises BadMessage for one that the agent cannot be given."""
    given = _document(message)
    parts = [_part_from(part) for part in given.get("parts", ())]
    found: Json = {"role": "user", "parts": parts, "message_id": message.message_id}
    return found | {key: given[key] for key in _MESSAGE_FIELDS if key in given}


def _document(message: pb.Message | Struct) -> Json:
    try:
        return dict(MessageToDict(message, preserving_proto_field_name=True))
    except (SerializeToJsonError, ValueError) as error:  # the second for a Struct alone
        sentence = "the message holds a number that is not finite, which JSON does not have."
        raise BadMessage(sentence) from error


def _part_from(part: Json) -> Json:
    kind = next((kind for kind in _KINDS if kind in part), None)
    if kind is None:
        raise BadMessage("a part has neither text, data, raw nor url: use one of these kinds.")
    ours, key = _KINDS[kind]
    found = {"type": ours, key: _whole_numbers(part[kind]) if kind == "data" else part[kind]}
    return found | {ours: part[theirs] for theirs, ours in _PART_FIELDS.items() if theirs in part}


def _whole_numbers(value: Any) -> Any:
    """Make 42.0 an int again: the standard's data has only floating-point numbers."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _HUGE:
        return int(value)
    if isinstance(value, dict):
        return {key: _whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(inner) for inner in value]
    return value


class Options(NamedTuple):
    """What the extension's metadata of a request says."""

    priority: int
    sender: Json | None
    expires: float | None  # seconds


def options_from(*metadata: Struct) -> Options:
    """From the metadata of request and message. The last one counts."""
    said: Json = {}
    for struct in metadata:
        inner = _document(struct).get(EXTENSION)
        if isinstance(inner, dict):
            said |= inner
    expires = expires_in({EXTENSION: said})
    priority = _whole_numbers(said.get("priority", 1))
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise BadMessage(f"priority is {priority!r}: use a number from 1 to 5.")
    sender = said.get("sender")
    if sender is None:
        return Options(priority, None, expires)
    if not isinstance(sender, dict) or not all(isinstance(value, str) for value in sender.values()):
        raise BadMessage('sender is not an object of strings: use {"id": …, "name": …}.')
    named = {key: sender[key] for key in ("id", "name") if key in sender} or None
    if not all(len(word) <= 200 and re.fullmatch(SENDER, word) for word in (named or {}).values()):
        raise BadMessage("sender has an id or a name with control characters, brackets, or no text.")
    return Options(priority, named, expires)


def task_to(task: Task, history: int | None = None, artifacts: bool = True) -> pb.Task:
    """The current task, with the last `history` messages (None: all)."""
    found = pb.Task(id=task.id, context_id=task.context_id)
    data: Json = {"taskId": task.id, "contextId": task.context_id, "state": task.state}
    data |= {"timestamp": timestamp(task.updated_at), "error": task.error, "prompt": task.prompt}
    found.status.CopyFrom(_status({**data, "note": task.note}, task.sequence))
    messages = [task.message, *task.history]
    first = 0 if history is None else max(len(messages) - history, 0)
    for number, message in enumerate(messages[first:], first):
        found.history.append(message_to(message, task.id, task.context_id, number))
    if artifacts:
        found.artifacts.extend(artifact_to({**a, "parts": joined(a["parts"])}) for a in task.artifacts)
    ours: Json = {"priority": task.priority, "receipts": task.receipts}
    if task.sender:
        ours["sender"] = task.sender
    if task.expires_at:
        ours["expires_at"] = timestamp(task.expires_at)
    metadata = {key: _camel(value) if key == "turn" else value for key, value in task.metadata.items()}
    _fill(found.metadata, {**metadata, EXTENSION: ours})
    return found


@shared
def event_to(event: SSEEvent) -> pb.TaskStatusUpdateEvent | pb.TaskArtifactUpdateEvent | None:
    """The event in the standard's types, shared by all listeners; None if the standard has no such event."""
    data = event.data
    if event.event_type == "status":
        return pb.TaskStatusUpdateEvent(
            task_id=data["taskId"], context_id=data["contextId"], status=_status(data, event.number)
        )
    if event.event_type == "artifact":
        return pb.TaskArtifactUpdateEvent(
            task_id=data["taskId"],
            context_id=data["contextId"],
            artifact=artifact_to(data["artifact"]),
            append=data["append"],
            last_chunk=data["lastChunk"],
        )
    return None


def notification(task: Task, event: SSEEvent, version: str) -> Json | None:
    """What is pushed: the event for 1.0, the task for 0.3; None for a piece that is not the last one."""
    if version == "0.3":
        if event.event_type != "status":
            return None
        from a2a.compat.v0_3.conversions import to_compat_task  # few clients need this second set of types

        return dict(to_compat_task(task_to(task)).model_dump(mode="json", by_alias=True, exclude_none=True))
    update = event_to(event)
    if update is None or not getattr(update, "last_chunk", True):
        return None
    return dict(MessageToDict(to_stream_response(update)))


def artifact_to(artifact: Json) -> pb.Artifact:
    found = pb.Artifact(artifact_id=artifact["artifact_id"], name=artifact.get("name", ""))
    found.parts.extend(_part_to(part) for part in artifact["parts"])
    metadata = dict(artifact.get("metadata") or {})
    if artifact.get("type", "text") != "text":
        metadata["type"] = artifact["type"]
    if metadata:
        _fill(found.metadata, metadata)
    return found


def message_to(message: Json, task_id: str, context_id: str, number: int) -> pb.Message:
    """`number` is used to make an id for a message without one."""
    found = pb.Message(
        message_id=message.get("message_id") or f"{task_id}-{number}",
        task_id=task_id,
        context_id=context_id,
        role=_ROLES.get(message.get("role", ""), pb.Role.ROLE_USER),
    )
    found.parts.extend(_part_to(part) for part in message["parts"])
    if message.get("metadata"):
        _fill(found.metadata, message["metadata"])
    found.extensions.extend(message.get("extensions", ()))
    found.reference_task_ids.extend(message.get("reference_task_ids", ()))
    return found


def _part_to(part: Json) -> pb.Part:
    found = pb.Part(filename=part.get("name") or "", media_type=part.get("mime_type") or "")
    if part["type"] == "data":
        try:
            ParseDict(part["data"], found.data)
        except _UNFIT:
            found.text = json.dumps(part["data"])
    elif part["type"] == "file" and part.get("bytes"):
        try:
            found.raw = base64.b64decode(part["bytes"])
        except binascii.Error:  # the specifications' endpoints do not check it
            found.raw = part["bytes"].encode()
    elif part["type"] == "file":
        found.url = part.get("uri") or part.get("path") or ""
    else:
        found.text = str(part.get("text", "")).encode("utf-8", "replace").decode()
    if part.get("metadata"):
        _fill(found.metadata, part["metadata"])
    return found


def _fill(struct: Struct, value: Json) -> None:
    try:
        ParseDict(value, struct)
    except _UNFIT:
        struct.Clear()
        struct.update({"json": json.dumps(value)})


def _camel(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    words = ((key.split("_"), inner) for key, inner in value.items())
    return {first + "".join(map(str.capitalize, rest)): _camel(v) for (first, *rest), v in words}


def _status(data: Json, number: int) -> pb.TaskStatus:
    status = pb.TaskStatus(state=pb.TaskState.Name(_STATES[data["state"]]))
    status.timestamp.FromJsonString(data["timestamp"])
    if message := _status_message(data):
        message |= {"role": "agent", "message_id": f"{data['taskId']}-status-{number}"}
        status.message.CopyFrom(message_to(message, data["taskId"], data["contextId"], number))
    return status


def _status_message(data: Json) -> Json | None:
    """The question, error or note that belongs to a status, as a message."""
    if prompt := data.get("prompt"):
        text = str(prompt.get("prompt") or prompt.get("question") or "the agent asks for input")
        return {"parts": [{"type": "text", "text": text}, {"type": "data", "data": prompt}]}
    if error := data.get("error"):
        text = str(error.get("message") or error.get("code") or "the task failed")
        return {"parts": [{"type": "text", "text": text}], "metadata": {EXTENSION: {"error": error}}}
    if note := data.get("note"):
        return {"parts": [{"type": "text", "text": note}]}
    return None
