"""What happens to a task, told to everybody who listens, in order and at once.

Nothing is kept while nobody listens: the store has it. Listeners share one list of events, each at its own
place in it, so that a slow one costs no more than its place, and never the agent's time. One that has fallen
behind further than `keep` events is told so, and begins anew from a snapshot.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from synapse.base.states import END_STATES

KEEPALIVE = 30.0  # seconds of silence after which a listener is given an empty event
KEEP = 10_000  # events that wait for the slowest listener
TRIM = 256  # events that everybody has heard: fewer are not worth the work of dropping them
# Some readers take more than a newline for the end of a line; JSON escapes the control characters anyway.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass
class SSEEvent:
    """A server-sent event. One with no type is a sign of life."""

    event_type: str  # status | artifact | receipt
    data: dict[str, Any]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    retry: int | None = None
    sent: bytes = field(default=b"", repr=False, compare=False)  # as readers get it, made once for all

    def to_sse_format(self) -> str:
        lines = []
        if self.id:
            lines.append(f"id: {self.id}")
        if self.event_type:
            lines.append(f"event: {self.event_type}")
        if self.retry:
            lines.append(f"retry: {self.retry}")
        data = json.dumps(self.data, ensure_ascii=False).translate(_LINE_ENDS)
        lines.append(f"data: {data}")
        return "\n".join(lines) + "\n\n"

    @property
    def number(self) -> int:
        """Its place in the task's sequence; 0 for what has none."""
        return int(self.id) if self.id.isdecimal() else 0


class Lagged(Exception):
    """The listener has fallen too far behind: what it has missed is in the store."""


class _Place:
    """Where a listener is."""

    def __init__(self, at: int) -> None:
        self.at = at  # the index of the next event, counted from the first one ever
        self.news = asyncio.Event()


class Subscription(AsyncGenerator[SSEEvent, None]):
    """What one listener hears. Closed or let go of, begun or not, it leaves nothing behind."""

    def __init__(self, emitter: TaskEventEmitter, keepalive: float) -> None:
        self._emitter = emitter
        self._keepalive = keepalive
        self._place = emitter.enter()
        self._open = True

    async def asend(self, value: None) -> SSEEvent:
        while self._open:
            try:
                event = self._emitter.next(self._place)
            except Lagged:
                self.close()
                raise
            if event is not None:
                return event
            if self._emitter.closed:
                self.close()
                break
            self._place.news.clear()
            try:
                async with asyncio.timeout(self._keepalive):
                    await self._place.news.wait()
            except TimeoutError:
                return SSEEvent("", {}, "")
            except asyncio.CancelledError:
                self.close()
                raise
        raise StopAsyncIteration

    async def athrow(self, typ: Any, val: Any = None, tb: Any = None, /) -> SSEEvent:
        self.close()
        raise typ if val is None else val

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._place.news.set()
            self._emitter.leave(self._place)

    def __del__(self) -> None:
        self.close()


class TaskEventEmitter:
    """The events of one task."""

    def __init__(self, task_id: str, keep: int = KEEP) -> None:
        self.task_id = task_id
        self._keep = keep
        self._events: list[SSEEvent] = []
        self._first = 0  # the index of the first event that is still kept
        self._places: set[_Place] = set()
        self._trim_at = TRIM  # events; not looked for earlier, because it means asking everybody
        self.closed = False

    @property
    def listeners(self) -> int:
        return len(self._places)

    def subscribe(self, keepalive: float = KEEPALIVE) -> Subscription:
        """Every event from this call on, until the task ends."""
        return Subscription(self, keepalive)

    def enter(self) -> _Place:
        place = _Place(self._first + len(self._events))
        self._places.add(place)
        return place

    def leave(self, place: _Place) -> None:
        self._places.discard(place)
        self._trim()

    def next(self, place: _Place) -> SSEEvent | None:
        """The event at this place, which then moves on; None if it has not happened yet."""
        if place.at < self._first:
            raise Lagged
        if place.at == self._first + len(self._events):
            self._trim()
            return None
        event = self._events[place.at - self._first]
        place.at += 1
        return event

    def emit(self, event: SSEEvent) -> None:
        """Tell everybody; after an end state there is nothing more to tell."""
        if self._places:
            self._events.append(event)
            if len(self._events) > 2 * self._keep:
                self._drop(len(self._events) - self._keep)
        else:
            self._first += 1
        if event.event_type == "status" and event.data.get("state") in END_STATES:
            self.closed = True
        for place in self._places:
            place.news.set()

    async def emit_status(self, state: str, error: dict[str, Any] | None = None) -> None:
        data: dict[str, Any] = {"taskId": self.task_id, "state": state, "timestamp": timestamp()}
        if error:
            data["error"] = error
        self.emit(SSEEvent("status", data))

    async def emit_artifact(self, text: str, artifact_name: str = "output", append: bool = True) -> None:
        artifact = {"type": "text", "name": artifact_name, "parts": [{"type": "text", "text": text}]}
        self.emit(SSEEvent("artifact", {"taskId": self.task_id, "artifact": artifact, "append": append}))

    def _trim(self) -> None:
        if not self._places:
            self._drop(len(self._events))
            self._trim_at = TRIM
        elif len(self._events) > self._trim_at:
            self._drop(min(place.at for place in self._places) - self._first)
            self._trim_at = len(self._events) + TRIM

    def _drop(self, count: int) -> None:
        if count > 0:
            del self._events[:count]
            self._first += count


class EventEmitterRegistry:
    """The emitters of the tasks that are under way."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self._emitters: dict[str, TaskEventEmitter] = {}

    def get_or_create(self, task_id: str) -> TaskEventEmitter:
        emitter = self._emitters.get(task_id)
        if emitter is None:
            emitter = self._emitters[task_id] = TaskEventEmitter(task_id, self._keep)
        return emitter

    def get(self, task_id: str) -> TaskEventEmitter | None:
        return self._emitters.get(task_id)

    def remove(self, task_id: str) -> None:
        """Forget it; who listens hears the end of it."""
        self._emitters.pop(task_id, None)


# For scripts: `synapse.a2a_compat.TaskStore` sends its events to these emitters. A host has its own registry.
emitter_registry = EventEmitterRegistry()


def timestamp(at: float | None = None) -> str:
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
