"""A task's events as a stream of the specification's dialect.

The first event is the state as it is, then what has been said so far, then every event as it happens. The
number of the last one is its `id`: who comes back with it is given what came after, or the whole of it where
that is no longer known. A stream ends when the task does. It does not end with `input_required`: whoever
answers sees what becomes of it in the same stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from synapse.event_emitter import Lagged, SSEEvent
from synapse.task import FAILED, REJECTED, Json, Task, artifact_to_dict
from synapse.tasks import TaskEngine

KEEPALIVE = 15.0
Events = AsyncGenerator[SSEEvent, None] | None
ALIVE = b": keepalive\n\n"


def events_of(
    engine: TaskEngine, task_id: str, after: int | None = None, keepalive: float = KEEPALIVE
) -> AsyncGenerator[bytes, None]:
    """What one reader is sent: everything from this call on, whenever it begins to read."""
    return _events(engine, task_id, keepalive, *_begin(engine, task_id, after, keepalive))


async def _events(
    engine: TaskEngine, task_id: str, keepalive: float, beginning: list[bytes], events: Events
) -> AsyncGenerator[bytes, None]:
    while True:
        try:
            for piece in beginning:
                yield piece
            if events is None:
                return
            async for event in events:
                yield encoded(event)
            return
        except Lagged:
            pass
        finally:
            if events is not None:
                await events.aclose()
        beginning, events = _begin(engine, task_id, None, keepalive)  # the whole of it anew


def _begin(
    engine: TaskEngine, task_id: str, after: int | None, keepalive: float
) -> tuple[list[bytes], Events]:
    task, events = engine.subscribe(task_id, keepalive)
    missed = _missed(engine, task, after) if after is not None else None
    return snapshot(task) if missed is None else missed, events


def _missed(engine: TaskEngine, task: Task, after: int) -> list[bytes] | None:
    """What came after the event of that number; None if some of it is no longer there."""
    events = engine.store.events(task.id, after)
    if after > task.sequence or [event.number for event in events] != list(
        range(after + 1, task.sequence + 1)
    ):
        return None
    return [encoded(event) for event in events]


def snapshot(task: Task) -> list[bytes]:
    """The last piece has the number: who has not heard all of it has not heard it."""
    status = SSEEvent("status", _status(task), "")
    artifacts = [
        SSEEvent("artifact", _artifact(task.id, artifact, append=False, last=task.ended), "")
        for artifact in task.artifacts
    ]
    # Readers leave when they see the end.
    pieces = [*artifacts, status] if task.ended else [status, *artifacts]
    pieces[-1].id = str(task.sequence)
    return [piece.to_sse_format().encode() for piece in pieces]


def encoded(event: SSEEvent) -> bytes:
    """For all readers once."""
    if not event.event_type:
        return ALIVE
    if not event.sent:
        data = event.data
        if event.event_type == "artifact":
            data = _artifact(data["taskId"], data["artifact"], data["append"], data.get("lastChunk", True))
        elif data.get("state") == REJECTED:
            data = {**data, "state": FAILED}
        event.sent = SSEEvent(event.event_type, data, event.id).to_sse_format().encode()
    return event.sent


def _status(task: Task) -> Json:
    document = task.to_dict()
    found = {
        "taskId": task.id,
        "contextId": task.context_id,
        "state": document["state"],
        "timestamp": document["updated_at"],
    }
    return found | {key: document[key] for key in ("error", "prompt", "note") if key in document}


def _artifact(task_id: str, artifact: Json, append: bool, last: bool) -> Json:
    return {
        "taskId": task_id,
        "artifactId": artifact["artifact_id"],
        "artifact": artifact_to_dict(artifact),
        "append": append,
        "lastChunk": last,
    }


class EventStream(Response):
    """Sends what it is given until that ends or the reader has left, which it notices at once."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncGenerator[bytes, None]) -> None:
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            _, failed = await asyncio.gather(leaving, sending, return_exceptions=True)
            await self._pieces.aclose()
        if isinstance(failed, Exception) and not isinstance(failed, OSError):
            raise failed

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def gone(receive: Receive) -> None:
    """Until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
