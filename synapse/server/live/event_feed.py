"""The numbered events of an agent for its viewers: status, tasks, replies, receipts, questions.

The newest events are kept, so that a viewer that reconnects with the last number it has seen gets those that
it missed. One that is too far behind gets `lagged`, and then the present state. The numbers begin with the
time at which the host started, so that those of an earlier host are always smaller.
"""

import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from synapse.event_emitter import SSEEvent, timestamp
from synapse.tasks.task import Json, Task, artifact_to_dict

KEEP_EVENTS = 1000
KEEP_BYTES = 4 * 1024 * 1024
TOPICS = ("status", "task", "artifact", "receipt", "question")

Event = tuple[int, str, str]  # number, topic, the frame as JSON


class EventFeed:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.number = int(clock() * 1000)  # of the newest event
        self._kept: deque[Event] = deque()
        self._bytes = 0
        self._oldest = self.number  # every event after this one is kept
        self._watchers: list[Callable[[], None]] = []

    def watch(self, news: Callable[[], None]) -> None:
        self._watchers.append(news)

    def leave(self, news: Callable[[], None]) -> None:
        if news in self._watchers:
            self._watchers.remove(news)

    def add(self, topic: str, content: Json) -> None:
        self.number += 1
        frame = encoded({"type": topic, "n": self.number, **content})
        self._kept.append((self.number, topic, frame))
        self._bytes += len(frame)
        while self._kept and (len(self._kept) > KEEP_EVENTS or self._bytes > KEEP_BYTES):
            self._oldest, _, dropped = self._kept.popleft()
            self._bytes -= len(dropped)
        for news in self._watchers:
            news()

    def has_all_since(self, number: int) -> bool:
        return self._oldest <= number <= self.number

    def next(self, number: int) -> Event | None:
        """The first event after this number, all of which are kept."""
        place = len(self._kept) - (self.number - number)
        return self._kept[place] if place < len(self._kept) else None

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        if event.event_type == "artifact":
            data = event.data
            last = bool(data.get("lastChunk", True))
            self.add("artifact", artifact(task, data["artifact"], append=bool(data["append"]), last=last))
        elif event.event_type == "receipt":
            self.add("receipt", {"task": task.id, "receipt": event.data["receipt"]})
        else:
            self.add("task", {"task": document(task)})


def encoded(frame: dict[str, Any]) -> str:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))


def document(task: Task) -> Json:
    """The task without its reply and its receipts, which are events of their own."""
    whole = task.to_dict()
    return {key: value for key, value in whole.items() if key not in ("artifacts", "receipts", "status")}


def artifact(task: Task, made: Json, append: bool, last: bool) -> Json:
    return {
        "task": task.id,
        "artifact": {"id": made["artifact_id"], **artifact_to_dict(made)},
        "append": append,
        "last": last,
    }


def task_frames(task: Task, number: int, topics: set[str]) -> list[str]:
    """The present state of a task as frames."""
    frames: list[Json] = []
    if "task" in topics:
        frames.append({"type": "task", "n": number, "task": document(task)})
    if "receipt" in topics:
        frames += ({"type": "receipt", "n": number, "task": task.id, "receipt": r} for r in task.receipts)
    if "artifact" in topics:
        made = (artifact(task, each, append=False, last=task.ended) for each in task.artifacts)
        frames += ({"type": "artifact", "n": number, **each} for each in made)
    return [encoded(frame) for frame in frames]


def at(moment: float) -> str:
    return timestamp(moment)
