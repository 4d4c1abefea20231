"""Sends a task's events to its listeners, in order and without delay.

Events are kept here only for listeners; the store keeps all of them. All listeners of a task read one list
of events, each from its own position, so a slow listener costs no copy and never blocks the agent. A
listener that is more than `keep` events behind gets `Lagged`, and starts again from a snapshot of the task.
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

KEEPALIVE = 30.0  # seconds without an event after which a listener gets an empty one
KEEP = 10_000  # events kept for the slowest listener
TRIM = 256  # events to drop at once: finding those that all have read takes a loop over the listeners
# Some clients end a line at these characters too. JSON escapes the other control characters.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass
class SSEEvent:
    """A server-sent event. One without a type keeps the connection alive."""

    event_type: str  # status | artifact | receipt
    data: dict[str, Any]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    retry: int | None = None
    sent: bytes = field(default=b"", repr=False, compare=False)  # encoded once for all clients

    def to_sse_format(self) -> str:
        fields = (("id", self.id), ("event", self.event_type), ("retry", self.retry))
        head = "".join(f"{name}: {value}\n" for name, value in fields if value)
        return f"{head}data: {json.dumps(self.data, ensure_ascii=False).translate(_LINE_ENDS)}\n\n"

    @property
    def number(self) -> int:
        return int(self.id) if self.id.isdecimal() else 0


class Lagged(Exception):
    """The listener is too far behind. What it missed is in the store."""


@dataclass(eq=False)
class _Position:
    """How far a listener has read."""

    at: int  # the index of the next event, counted from the first event of the task
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Subscription(AsyncGenerator[SSEEvent, None]):
    """The events of one listener. Closing it, or dropping the last reference, removes the listener."""

    def __init__(self, emitter: TaskEventEmitter, keepalive: float) -> None:
        self._emitter = emitter
        self._keepalive = keepalive
        self._position = emitter.enter()
        self._open = True

    async def asend(self, value: None) -> SSEEvent:
        try:
            while self._open:
                if (event := self._emitter.next(self._position)) is not None:
                    return event
                if self._emitter.closed:
                    break
                self._position.news.clear()
                async with asyncio.timeout(self._keepalive):
                    await self._position.news.wait()
        except TimeoutError:
            return SSEEvent("", {}, "")
        except (Lagged, asyncio.CancelledError):
            self.close()
            raise
        self.close()
        raise StopAsyncIteration

    async def athrow(self, typ: Any, val: Any = None, tb: Any = None, /) -> SSEEvent:
        self.close()
        raise typ if val is None else val

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._position.news.set()
            self._emitter.leave(self._position)

    def __del__(self) -> None:
        self.close()


class TaskEventEmitter:
    """The events of one task."""

    def __init__(self, task_id: str, keep: int = KEEP) -> None:
        self.task_id = task_id
        self._keep = keep
        self._events: list[SSEEvent] = []
        self._first = 0  # the index of the first event that is still kept
        self._positions: set[_Position] = set()
        self._trim_at = TRIM  # events; with more than that, look for events that every listener has read
        self.closed = False

    @property
    def listeners(self) -> int:
        return len(self._positions)

    def subscribe(self, keepalive: float = KEEPALIVE) -> Subscription:
        return Subscription(self, keepalive)

    def enter(self) -> _Position:
        position = _Position(self._first + len(self._events))
        self._positions.add(position)
        return position

    def leave(self, position: _Position) -> None:
        self._positions.discard(position)
        self._trim()

    def next(self, position: _Position) -> SSEEvent | None:
        """The event at this position, which then advances; None if there is no event yet."""
        if position.at < self._first:
            raise Lagged
        if position.at == self._first + len(self._events):
            self._trim()
            return None
        event = self._events[position.at - self._first]
        position.at += 1
        return event

    def emit(self, event: SSEEvent) -> None:
        """Send an event to all listeners. A status event with an end state closes the emitter."""
        if self._positions:
            self._events.append(event)
            if len(self._events) > 2 * self._keep:
                self._drop(len(self._events) - self._keep)
        else:
            self._first += 1
        if event.event_type == "status" and event.data.get("state") in END_STATES:
            self.closed = True
        for position in self._positions:
            position.news.set()

    async def emit_status(self, state: str, error: dict[str, Any] | None = None) -> None:
        data: dict[str, Any] = {"taskId": self.task_id, "state": state, "timestamp": timestamp()}
        if error:
            data["error"] = error
        self.emit(SSEEvent("status", data))

    async def emit_artifact(self, text: str, artifact_name: str = "output", append: bool = True) -> None:
        artifact = {"type": "text", "name": artifact_name, "parts": [{"type": "text", "text": text}]}
        self.emit(SSEEvent("artifact", {"taskId": self.task_id, "artifact": artifact, "append": append}))

    def _trim(self) -> None:
        if not self._positions:
            self._drop(len(self._events))
            self._trim_at = TRIM
        elif len(self._events) > self._trim_at:
            self._drop(min(position.at for position in self._positions) - self._first)
            self._trim_at = len(self._events) + TRIM

    def _drop(self, count: int) -> None:
        if count > 0:
            del self._events[:count]
            self._first += count


class EventEmitterRegistry:
    """The emitters of the tasks that have listeners."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self._emitters: dict[str, TaskEventEmitter] = {}

    def get_or_create(self, task_id: str) -> TaskEventEmitter:
        if task_id not in self._emitters:
            self._emitters[task_id] = TaskEventEmitter(task_id, self._keep)
        return self._emitters[task_id]

    def get(self, task_id: str) -> TaskEventEmitter | None:
        return self._emitters.get(task_id)

    def remove(self, task_id: str) -> None:
        """Drop the emitter. Its listeners still get the events that it has."""
        self._emitters.pop(task_id, None)


# For scripts: `synapse.a2a_compat.TaskStore` sends its events to these emitters. A host has its own registry.
emitter_registry = EventEmitterRegistry()


def timestamp(at: float | None = None) -> str:
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
