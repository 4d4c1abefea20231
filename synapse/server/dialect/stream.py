"""A task's events as the server-sent events of the specifications' endpoints.

A stream begins with a snapshot (the state, then the reply so far) and goes on with every event as it happens.
The `id` of an event is its number in the task. A client that reconnects with the last number gets the events
after it, or a new snapshot if some of them are no longer stored. The stream ends with the task. It does not
end with `input_required`: the client that answers sees the rest in the same stream.
"""

from collections.abc import AsyncGenerator

from synapse.base.states import FAILED, REJECTED
from synapse.event_emitter import Lagged, SSEEvent
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, Task, artifact_to_dict

Events = AsyncGenerator[SSEEvent, None] | None


def events_of(engine: TaskEngine, task_id: str, after: int | None = None) -> AsyncGenerator[bytes, None]:
    """The stream of one client: every event from this call on, even if the client starts reading later.
    What keeps it alive is in `EventStream`."""

    def begin(after: int | None) -> tuple[list[bytes], Events]:
        task, events = engine.subscribe(task_id)
        return snapshot(task) if after is None else _missed(engine, task, after), events

    async def chunks(beginning: list[bytes], events: Events) -> AsyncGenerator[bytes, None]:
        while True:
            try:
                for piece in beginning:
                    yield piece
                if events is not None:
                    async for event in events:
                        if event.event_type:
                            yield encoded(event)
                return
            except Lagged:
                pass
            finally:
                if events is not None:
                    await events.aclose()
            beginning, events = begin(None)

    return chunks(*begin(after))


def _missed(engine: TaskEngine, task: Task, after: int) -> list[bytes]:
    """The events after that number, or a snapshot if some of them are no longer stored."""
    events = engine.store.events(task.id, after)
    missing = range(after + 1, task.sequence + 1)
    if after > task.sequence or [event.number for event in events] != list(missing):
        return snapshot(task)
    return [encoded(event) for event in events]


def snapshot(task: Task) -> list[bytes]:
    """Only the last event has a number: a client that received only a part reconnects without one."""
    status = SSEEvent("status", _status(task), "")
    artifacts = [
        SSEEvent("artifact", _artifact(task.id, artifact, append=False, last=task.ended), "")
        for artifact in task.artifacts
    ]
    # Clients disconnect when they see an end state, so it comes last.
    pieces = [*artifacts, status] if task.ended else [status, *artifacts]
    pieces[-1].id = str(task.sequence)
    return [piece.to_sse_format().encode() for piece in pieces]


def encoded(event: SSEEvent) -> bytes:
    if not event.sent:
        event.sent = SSEEvent(event.event_type, told(event), event.id).to_sse_format().encode()
    return event.sent


def told(event: SSEEvent) -> Json:
    """The data of a stored event as clients get it."""
    data = event.data
    if event.event_type == "artifact":
        return _artifact(data["taskId"], data["artifact"], data["append"], data.get("lastChunk", True))
    return {**data, "state": FAILED} if data.get("state") == REJECTED else data


def _status(task: Task) -> Json:
    document = task.to_dict()
    found = {"taskId": task.id, "contextId": task.context_id, "state": document["state"]}
    found["timestamp"] = document["updated_at"]
    if task.ended and (turn := task.metadata.get("turn")):
        found["turn"] = turn
    return found | {key: document[key] for key in ("error", "prompt", "note") if key in document}


def _artifact(task_id: str, artifact: Json, append: bool, last: bool) -> Json:
    return {
        "taskId": task_id,
        "artifactId": artifact["artifact_id"],
        "artifact": artifact_to_dict(artifact),
        "append": append,
        "lastChunk": last,
    }
