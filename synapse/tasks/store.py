"""The store of an agent's tasks: one SQLite file, with one numbered sequence of events for each task.

Memory has the current state while the host lives, so that a full or locked disk does not disturb a running
task; what could not be written is written later. A new task is accepted only when it is on disk.
"""

import json
import logging
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from synapse.base.states import CANCELED, END_STATES, FAILED, INPUT_REQUIRED, WORKING
from synapse.event_emitter import SSEEvent, timestamp
from synapse.tasks import outbox, rows
from synapse.tasks.database import Database, Statement
from synapse.tasks.task import GONE, Json, StoreFailed, StoreGone, Task, TaskNotFound

logger = logging.getLogger(__name__)

_ENDED = ",".join(f"'{state}'" for state in sorted(END_STATES))

PRUNE_EVERY = 100  # tasks

Listener = Callable[[Task, SSEEvent], None]


@dataclass(eq=False, repr=False)
class TaskStore:
    path: str = ":memory:"
    run: str = ""
    keep: int = 10_000
    clock: Callable[[], float] = time.time
    on_dropped: Callable[[list[str]], None] = lambda _: None  # tasks that are no longer kept
    taken_over: bool = False  # the tasks of earlier hosts and runs are known

    def __post_init__(self) -> None:
        self._live: dict[str, Task] = {}
        self._unsaved: dict[str, Task] = {}  # ended, but not on disk yet
        self._push: dict[str, dict[str, Json]] = {}  # the push configurations of live tasks
        self._listeners: list[Listener] = []
        self._created = 0
        self._outbox = outbox.Outbox(self.clock, time.time_ns)
        schema = rows.SCHEMA + outbox.SCHEMA
        self._db = Database(self.path, schema, rows.VERSION, self._rows_under_way)

    def on_event(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def add_sender(self, sender: outbox.Sender) -> None:
        self._outbox.add_sender(sender)

    def settle(self, owed: outbox.Owed) -> None:
        """It has arrived, or is given up."""
        self._outbox.settle(owed, self._db)

    def is_old(self, owed: outbox.Owed) -> bool:
        """Whether it was owed for so long that it is dropped."""
        return self._outbox.is_old(owed)

    def close(self) -> None:
        self._db.close()

    def create(
        self,
        message: Json,
        *,
        task_id: str | None = None,
        context_id: str | None = None,
        priority: int = 1,
        sender: Json | None = None,
        metadata: Json | None = None,
        request_id: str | None = None,
        expires: float | None = None,
    ) -> Task:
        """The new task is on disk when this returns."""
        now = self.clock()
        task = Task(
            task_id or self._new_id(),
            context_id or str(uuid.uuid4()),
            message,
            self.run,
            priority=priority,
            sender=sender,
            created_at=now,
            updated_at=now,
            pending=[message],
            metadata=metadata or {},
            request_id=request_id,
            expires_at=now + expires if expires else 0.0,
        )
        try:
            task.arrival = self._db.insert(rows.insertion(task))
        except sqlite3.Error as error:
            if not os.path.isdir(folder := os.path.dirname(os.path.abspath(self.path))):
                why = f"the folder {folder} is gone and cannot be made again: make it, then send again."
                raise StoreGone(why) from error
            why = f"the task cannot be stored ({error}): see to the disk, then send again."
            raise StoreFailed(why) from error
        self._live[task.id] = task
        self._append_status(task)
        self._created += 1
        if self._created % max(min(self.keep // 10, PRUNE_EVERY), 1) == 0:
            self._prune()
        return task

    def get(self, task_id: str) -> Task:
        task = self._known(task_id) or self._load(task_id)
        if task is None:
            raise TaskNotFound(f"there is no task {task_id!r}: `synapse tasks` lists them.")
        return task

    def update_status(
        self,
        task_id: str,
        status: str,
        *,
        error: Json | None = None,
        note: str = "",
        prompt: Json | None = None,
    ) -> Task:
        task = self.get(task_id)
        if task.ended:
            return task  # the first end is the end
        task.state, task.error, task.note, task.prompt = status, error, note, prompt
        self._append_status(task, self._touched(task))
        return task

    def add_artifact(self, task_id: str, artifact: Json, append: bool = False, last: bool = True) -> Task:
        task = self.get(task_id)
        if task.ended:
            return task
        artifact = {**artifact, "artifact_id": artifact.get("artifact_id") or str(uuid.uuid4())}
        known = [a["artifact_id"] for a in task.artifacts]
        # Clients ignore a continuation of an artifact that they have not seen.
        append = append and artifact["artifact_id"] in known
        # A reply read from the screen is sent whole with each change: drop the events before.
        anew = not append and known == [artifact["artifact_id"]]
        task.take_artifact(artifact, append)
        data = {"taskId": task.id, "contextId": task.context_id, "artifact": artifact, "append": append}
        before = (rows.without_artifacts(task),) if anew else ()
        self._append(task, "artifact", {**data, "lastChunk": last}, *before)
        return task

    def set_input_required(self, task_id: str, input_prompt: Json) -> Task:
        return self.update_status(task_id, INPUT_REQUIRED, prompt=input_prompt)

    def provide_input(self, task_id: str, input_value: str) -> bool:
        """Whether the task waited for input; it is working now. A secret is not kept."""
        task = self.get(task_id)
        if task.state != INPUT_REQUIRED:
            return False
        secret = bool(task.prompt and task.prompt.get("type") == "password")
        text = "(a secret, not kept)" if secret else input_value
        task.history.append({"role": "user", "parts": [{"type": "text", "text": text}]})
        self.update_status(task_id, WORKING)
        return True

    def find_request(self, request_id: str) -> Task | None:
        found = self._db.read("SELECT id FROM tasks WHERE request_id = ?", (request_id,))
        return self.get(found[0][0]) if found else None

    def add_receipt(self, task: Task, step: str, **evidence: Any) -> None:
        if task.ended:
            return
        receipt = {"step": step, "at": timestamp(self.clock()), **evidence}
        task.receipts.append(receipt)
        self._append(task, "receipt", {"taskId": task.id, "receipt": receipt}, self._touched(task))

    def set_note(self, task: Task, note: str) -> None:
        if task.note != note and not task.ended:
            task.note = note
            self._append_status(task, self._touched(task))

    def save(self, task: Task) -> None:
        self._db.write(self._touched(task))

    def live(self) -> list[Task]:
        return sorted(self._live.values(), key=lambda task: task.arrival)

    def list_tasks(
        self,
        *,
        states: Iterable[str] = (),
        context_id: str | None = None,
        after: tuple[float, str] | None = None,
        since: float | None = None,
        limit: int = 50,
    ) -> list[Task]:
        """The last changed first, from behind the one that `after` names."""
        clause, values = _where(states, context_id, since, after)
        found = self._db.read(
            f"SELECT {rows.COLUMNS} FROM tasks{clause} ORDER BY updated_at DESC, id DESC LIMIT ?",
            (*values, limit),
        )
        tasks = (self._known(row[1]) or self._task(row) for row in found)
        return [task for task in tasks if task is not None]

    def count(
        self, *, states: Iterable[str] = (), context_id: str | None = None, since: float | None = None
    ) -> int:
        clause, values = _where(states, context_id, since)
        found = self._db.read(f"SELECT count(*) FROM tasks{clause}", values)
        return int(found[0][0]) if found else 0

    def events(self, task_id: str, after: int = 0) -> list[SSEEvent]:
        found = self._db.read(
            "SELECT sequence, kind, data FROM events WHERE task_id = ? AND sequence > ? ORDER BY sequence",
            (task_id, after),
        )
        return [SSEEvent(kind, json.loads(data), str(number)) for number, kind, data in found]

    def take_over(self) -> list[Task]:
        """At the start: send what is owed, fail the tasks of dead runs, and return those of this run. Call it
        again while `taken_over` is false: the disk cannot be read yet."""
        found = self._db.try_read(
            f"SELECT {rows.COLUMNS} FROM tasks WHERE state NOT IN ({_ENDED}) ORDER BY arrival"
        )
        if found is None:
            return []
        self.taken_over = True
        self._outbox.take_over(self._db)
        self._prune()
        mine = []
        for row in found:
            task = self._known(row[1]) or self._task(row)
            if task is None or task.ended:
                continue
            self._live[task.id] = task
            if task.run == self.run:
                if configs := self.push_configs(task.id):
                    self._push[task.id] = configs
                mine.append(task)
            elif task.cancel_wanted:
                self.update_status(task.id, CANCELED)
            else:
                self.update_status(task.id, FAILED, error=GONE)
        return mine

    def set_push_config(self, task_id: str, config_id: str, config: Json) -> None:
        if task_id in self._live:
            self._push.setdefault(task_id, {})[config_id] = config
        self._db.write(rows.push_config(task_id, config_id, config))

    def push_configs(self, task_id: str) -> dict[str, Json]:
        if task_id in self._push:
            return dict(sorted(self._push[task_id].items()))
        found = self._db.read("SELECT id, config FROM push_configs WHERE task_id = ? ORDER BY id", (task_id,))
        return {config_id: json.loads(config) for config_id, config in found}

    def remove_push_config(self, task_id: str, config_id: str) -> None:
        self._push.get(task_id, {}).pop(config_id, None)
        self._db.write(("DELETE FROM push_configs WHERE task_id = ? AND id = ?", (task_id, config_id)))

    def _append(self, task: Task, kind: str, data: Json, *before: Statement) -> None:
        task.sequence += 1
        event = SSEEvent(kind, data, str(task.sequence))
        statements = [*before, rows.event(task.id, task.sequence, kind, data)]
        if kind == "status" and task.ended:
            # Its row has the whole task now; the pieces of the reply are not needed any more.
            statements.append(rows.without_artifacts(task))
            self._live.pop(task.id, None)
            self._unsaved[task.id] = task
        owed = self._outbox.report(task, event)
        self._db.write(*statements, *map(outbox.insertion, owed))
        self._outbox.send(owed)
        for listener in self._listeners:
            listener(task, event)

    def _append_status(self, task: Task, *before: Statement) -> None:
        self._append(task, "status", self._status(task), *before)

    def _status(self, task: Task) -> Json:
        data: Json = {
            "taskId": task.id,
            "contextId": task.context_id,
            "state": task.state,
            "timestamp": timestamp(task.updated_at),
        }
        turn = task.metadata.get("turn") if task.ended else None
        more = {"error": task.error, "prompt": task.prompt, "note": task.note, "turn": turn}
        return data | {key: value for key, value in more.items() if value}

    def _touched(self, task: Task) -> Statement:
        task.updated_at = max(self.clock(), task.updated_at)
        return rows.update(task)

    def _known(self, task_id: str) -> Task | None:
        if self._unsaved and self._db.saved:
            for saved in self._unsaved:
                self._push.pop(saved, None)
            self._unsaved.clear()
        return self._live.get(task_id) or self._unsaved.get(task_id)

    def _load(self, task_id: str) -> Task | None:
        found = self._db.read(f"SELECT {rows.COLUMNS} FROM tasks WHERE id = ?", (task_id,))
        return self._task(found[0]) if found else None

    def _task(self, row: tuple[Any, ...]) -> Task | None:
        """None for a row that cannot be read."""
        try:
            task = rows.task_of(row)
            if task.ended:
                last = self._db.read("SELECT max(sequence) FROM events WHERE task_id = ?", (task.id,))
                task.sequence = int(last[0][0] or 0) if last else 0
                return task
            for event in self.events(task.id):
                task.sequence = event.number
                if event.event_type == "artifact":
                    task.take_artifact(event.data["artifact"], event.data["append"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            logger.error("task %s in %s cannot be read: %r", row[1], self.path, error)
            return None
        return task

    def _new_id(self) -> str:
        taken = {task.short_id for task in self._live.values()}
        while (made := str(uuid.uuid4()))[:8] in taken:
            pass
        return made

    def _rows_under_way(self) -> list[Statement]:
        statements = []
        for task in [*self._unsaved.values(), *self.live()]:
            statements.append(rows.insertion(task))
            # Each artifact was at least one event after the first: these numbers are free.
            for number, artifact in enumerate([] if task.ended else task.artifacts, 1):
                data = {"taskId": task.id, "artifact": artifact, "append": False}
                statements.append(rows.event(task.id, number, "artifact", data))
            statements.append(rows.event(task.id, task.sequence, "status", self._status(task)))
            for config_id, config in self._push.get(task.id, {}).items():
                statements.append(rows.push_config(task.id, config_id, config))
        return statements + self._outbox.rows()

    def _prune(self) -> None:
        old = f"SELECT id FROM tasks WHERE state IN ({_ENDED}) ORDER BY arrival DESC LIMIT -1 OFFSET ?"
        values = (self.keep,)
        dropped = [row[0] for row in self._db.read(old, values)]
        if not dropped:
            return
        places = ("events WHERE task_id", "push_configs WHERE task_id", "tasks WHERE id")
        self._db.write(*((f"DELETE FROM {place} IN ({old})", values) for place in places))
        self.on_dropped(dropped)


def _where(
    states: Iterable[str], context_id: str | None, since: float | None, after: tuple[float, str] | None = None
) -> tuple[str, tuple[Any, ...]]:
    wanted = tuple(states)
    conditions: dict[str, tuple[Any, ...]] = {
        f"state IN ({','.join('?' * len(wanted))})": wanted,
        "context_id = ?": () if context_id is None else (context_id,),
        "updated_at >= ?": () if since is None else (since,),
        "(updated_at, id) < (?, ?)": after or (),
    }
    used = {condition: values for condition, values in conditions.items() if values}
    clause = f" WHERE {' AND '.join(used)}" if used else ""
    return clause, tuple(value for values in used.values() for value in values)
