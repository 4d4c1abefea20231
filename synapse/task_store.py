"""Where tasks are kept: one SQLite file an agent, events appended, one sequence a task.

Memory is the truth while the host lives: a disk that is full or locked for a moment costs no running task
anything, and what could not be written is written as soon as it can be. A task is accepted only when it is on
disk. A file that is damaged is set aside, and another begun.
"""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from synapse.database import Database, Statement
from synapse.event_emitter import END_STATES, SSEEvent, timestamp
from synapse.task import (
    CANCELED,
    FAILED,
    INPUT_REQUIRED,
    WORKING,
    Json,
    StoreFailed,
    Task,
    TaskNotFound,
)

VERSION = 1
GONE: Json = {"code": "AGENT_GONE", "message": "the agent ended before the task did"}

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    arrival INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    request_id TEXT UNIQUE,
    message TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS tasks_by_update ON tasks (updated_at, id);
CREATE INDEX IF NOT EXISTS tasks_by_context ON tasks (context_id);
CREATE TABLE IF NOT EXISTS events (
    task_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (task_id, sequence)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS push_configs (
    task_id TEXT NOT NULL,
    id TEXT NOT NULL,
    config TEXT NOT NULL,
    PRIMARY KEY (task_id, id)
) WITHOUT ROWID;
"""
_DETAIL = ("sender", "history", "pending", "prompt", "error", "note", "metadata", "receipts", "cancel_wanted")
_COLUMNS = (
    "arrival, id, run, context_id, state, priority, created_at, updated_at, request_id, message, detail"
)

Listener = Callable[[Task, SSEEvent], None]


class TaskStore:
    def __init__(
        self,
        path: str = ":memory:",
        run: str = "",
        keep: int = 10_000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.run = run
        self._keep = keep
        self._clock = clock
        self._live: dict[str, Task] = {}
        self._listeners: list[Listener] = []
        self._created = 0
        self._db = Database(path, _SCHEMA, VERSION, self._rows_under_way)

    def on_event(self, listener: Listener) -> None:
        self._listeners.append(listener)

    @property
    def trouble(self) -> str:
        return self._db.trouble

    def close(self) -> None:
        self._db.close()

    # --- the specification's methods ----------------------------------------------------------------------

    def create(
        self,
        message: Json,
        *,
        context_id: str | None = None,
        priority: int = 1,
        sender: Json | None = None,
        metadata: Json | None = None,
        request_id: str | None = None,
    ) -> Task:
        """A new task, on disk when this returns."""
        now = self._clock()
        task = Task(
            self._new_id(),
            context_id or str(uuid.uuid4()),
            message,
            self.run,
            priority=priority,
            sender=sender,
            created_at=now,
            updated_at=now,
            metadata=metadata or {},
            request_id=request_id,
        )
        try:
            task.arrival = self._db.insert(self._insertion(task))
        except sqlite3.Error as error:
            raise StoreFailed(
                f"the task cannot be stored ({error}): see to the disk, then send again."
            ) from error
        self._live[task.id] = task
        self._append(task, "status", self._status(task))
        self._created += 1
        if self._created % 100 == 0:
            self._prune()
        return task

    def get(self, task_id: str) -> Task:
        """The task of this id; a short id will do for one that is under way."""
        task = self._live.get(task_id) or self._load(task_id)
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
        touched = self._touched(task)
        self._append(task, "status", self._status(task), touched)
        return task

    def add_artifact(self, task_id: str, artifact: Json, append: bool = False, last: bool = True) -> Task:
        task = self.get(task_id)
        if task.ended:
            return task
        artifact = {"artifact_id": artifact.get("artifact_id") or str(uuid.uuid4()), **artifact}
        # There is nothing to continue yet: clients pass over a continuation of what they have not seen.
        append = append and any(a["artifact_id"] == artifact["artifact_id"] for a in task.artifacts)
        task.take_artifact(artifact, append)
        data = {"taskId": task.id, "contextId": task.context_id, "artifact": artifact, "append": append}
        self._append(task, "artifact", {**data, "lastChunk": last})
        return task

    def set_input_required(self, task_id: str, input_prompt: Json) -> Task:
        return self.update_status(task_id, INPUT_REQUIRED, prompt=input_prompt)

    def provide_input(self, task_id: str, input_value: str) -> bool:
        """Back to work, if it did wait for input. A secret is not kept."""
        task = self.get(task_id)
        if task.state != INPUT_REQUIRED:
            return False
        secret = bool(task.prompt and task.prompt.get("type") == "password")
        text = "(a secret, not kept)" if secret else input_value
        task.history.append({"role": "user", "parts": [{"type": "text", "text": text}]})
        self.update_status(task_id, WORKING)
        return True

    # --- more ---------------------------------------------------------------------------------------------

    def find_request(self, request_id: str) -> Task | None:
        row = self._db.read("SELECT id FROM tasks WHERE request_id = ?", (request_id,))
        return self.get(row[0][0]) if row else None

    def add_receipt(self, task: Task, step: str, **evidence: Any) -> None:
        """A step that was really taken, with its time and what shows it."""
        if task.ended:
            return
        receipt = {"step": step, "at": timestamp(self._clock()), **evidence}
        task.receipts.append(receipt)
        self._append(task, "receipt", {"taskId": task.id, "receipt": receipt}, self._touched(task))

    def set_note(self, task: Task, note: str) -> None:
        """Why it waits."""
        if task.note != note and not task.ended:
            task.note = note
            touched = self._touched(task)
            self._append(task, "status", self._status(task), touched)

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
        """Tasks, the latest changed first, from behind the one that `after` names."""
        where, values = self._filter(states, context_id, since)
        if after is not None:
            where.append("(updated_at, id) < (?, ?)")
            values += after
        clause = f" WHERE {' AND '.join(where)}" if where else ""
        rows = self._db.read(
            f"SELECT {_COLUMNS} FROM tasks{clause} ORDER BY updated_at DESC, id DESC LIMIT ?",
            (*values, limit),
        )
        return [self._live.get(row[1]) or self._from_row(row) for row in rows]

    def count(
        self, *, states: Iterable[str] = (), context_id: str | None = None, since: float | None = None
    ) -> int:
        where, values = self._filter(states, context_id, since)
        clause = f" WHERE {' AND '.join(where)}" if where else ""
        rows = self._db.read(f"SELECT count(*) FROM tasks{clause}", tuple(values))
        return int(rows[0][0]) if rows else 0

    @staticmethod
    def _filter(
        states: Iterable[str], context_id: str | None, since: float | None
    ) -> tuple[list[str], list[Any]]:
        where: list[str] = []
        values: list[Any] = []
        wanted = tuple(states)
        if wanted:
            where.append(f"state IN ({','.join('?' * len(wanted))})")
            values += wanted
        if context_id is not None:
            where.append("context_id = ?")
            values.append(context_id)
        if since is not None:
            where.append("updated_at >= ?")
            values.append(since)
        return where, values

    def events(self, task_id: str, after: int = 0) -> list[SSEEvent]:
        """What has happened to a task since the event of that number, as far as it is kept."""
        rows = self._db.read(
            "SELECT sequence, kind, data FROM events WHERE task_id = ? AND sequence > ? ORDER BY sequence",
            (task_id, after),
        )
        return [SSEEvent(kind, json.loads(data), str(number)) for number, kind, data in rows]

    def take_over(self) -> list[Task]:
        """At the start: fail what dead runs have left, and return what this run has under way."""
        rows = self._db.read(
            f"SELECT {_COLUMNS} FROM tasks WHERE state NOT IN ({','.join('?' * len(END_STATES))})"
            " ORDER BY arrival",
            tuple(END_STATES),
        )
        mine = []
        for row in rows:
            task = self._from_row(row)
            self._live[task.id] = task
            if task.run == self.run:
                mine.append(task)
            elif task.cancel_wanted:
                self.update_status(task.id, CANCELED)
            else:
                self.update_status(task.id, FAILED, error=GONE)
        return mine

    # --- push notification configurations -----------------------------------------------------------------

    def set_push_config(self, task_id: str, config_id: str, config: Json) -> None:
        row = (task_id, config_id, json.dumps(config))
        self._db.write(("INSERT OR REPLACE INTO push_configs VALUES (?, ?, ?)", row))

    def push_configs(self, task_id: str) -> dict[str, Json]:
        rows = self._db.read("SELECT id, config FROM push_configs WHERE task_id = ? ORDER BY id", (task_id,))
        return {config_id: json.loads(config) for config_id, config in rows}

    def remove_push_config(self, task_id: str, config_id: str) -> None:
        self._db.write(("DELETE FROM push_configs WHERE task_id = ? AND id = ?", (task_id, config_id)))

    # --- events and rows ----------------------------------------------------------------------------------

    def _append(self, task: Task, kind: str, data: Json, *before: Statement) -> None:
        task.sequence += 1
        event = SSEEvent(kind, data, str(task.sequence))
        statements = [*before, self._event_row(task, kind, data)]
        if kind == "status" and task.ended:
            # The whole of it is in its row now; the pieces of its reply were for those who listened.
            statements.append(("DELETE FROM events WHERE task_id = ? AND kind = 'artifact'", (task.id,)))
            self._live.pop(task.id, None)
        self._db.write(*statements)
        for listener in self._listeners:
            listener(task, event)

    def _status(self, task: Task) -> Json:
        data: Json = {
            "taskId": task.id,
            "contextId": task.context_id,
            "state": task.state,
            "timestamp": timestamp(task.updated_at),
        }
        more = {"error": task.error, "prompt": task.prompt, "note": task.note}
        return data | {key: value for key, value in more.items() if value}

    def _touched(self, task: Task) -> Statement:
        task.updated_at = max(self._clock(), task.updated_at)
        return (
            "UPDATE tasks SET state = ?, updated_at = ?, detail = ? WHERE id = ?",
            (task.state, task.updated_at, self._detail(task), task.id),
        )

    @staticmethod
    def _event_row(task: Task, kind: str, data: Json) -> Statement:
        row = (task.id, task.sequence, kind, json.dumps(data, ensure_ascii=False))
        return "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?)", row

    def _detail(self, task: Task) -> str:
        detail = {name: value for name in _DETAIL if (value := getattr(task, name))}
        if task.ended:
            detail["artifacts"] = task.artifacts
        return json.dumps(detail, ensure_ascii=False)

    def _insertion(self, task: Task) -> Statement:
        return (
            "INSERT INTO tasks (id, run, context_id, state, priority, created_at, updated_at, request_id,"
            " message, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(task.id, task.run, task.context_id, task.state, task.priority),
                *(task.created_at, task.updated_at, task.request_id),
                json.dumps(task.message, ensure_ascii=False),
                self._detail(task),
            ),
        )

    def _load(self, task_id: str) -> Task | None:
        rows = self._db.read(f"SELECT {_COLUMNS} FROM tasks WHERE id = ?", (task_id,))
        return self._from_row(rows[0]) if rows else None

    def _from_row(self, row: tuple[Any, ...]) -> Task:
        arrival, task_id, run, context_id, state, priority, *times, request_id, message, detail = row
        task = Task(task_id, context_id, json.loads(message), run, state, priority, arrival)
        (task.created_at, task.updated_at), task.request_id = times, request_id
        for name, value in json.loads(detail).items():
            setattr(task, name, value)
        events = self.events(task_id)
        task.sequence = events[-1].number if events else 0
        if not task.ended:
            for event in events:
                if event.event_type == "artifact":
                    task.take_artifact(event.data["artifact"], event.data["append"])
        return task

    def _new_id(self) -> str:
        taken = {task.short_id for task in self._live.values()}
        while (made := str(uuid.uuid4()))[:8] in taken:
            pass
        return made

    def _rows_under_way(self) -> list[Statement]:
        """All of it, for a file that is begun anew."""
        statements = []
        for task in self.live():
            statements.append(self._insertion(task))
            for artifact in task.artifacts:
                task.sequence += 1
                data = {"taskId": task.id, "artifact": artifact, "append": False}
                statements.append(self._event_row(task, "artifact", data))
        return statements

    def _prune(self) -> None:
        """Only so many ended tasks are kept."""
        ended = ",".join("?" * len(END_STATES))
        old = f"SELECT id FROM tasks WHERE state IN ({ended}) ORDER BY arrival DESC LIMIT -1 OFFSET ?"
        values = (*END_STATES, self._keep)
        self._db.write((f"DELETE FROM events WHERE task_id IN ({old})", values))
        self._db.write((f"DELETE FROM push_configs WHERE task_id IN ({old})", values))
        self._db.write((f"DELETE FROM tasks WHERE id IN ({old})", values))
