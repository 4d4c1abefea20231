"""Tasks as rows of a database."""

import json
from typing import Any

from synapse.tasks.database import Statement
from synapse.tasks.task import Json, Task

VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    arrival INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, run TEXT NOT NULL,
    context_id TEXT NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL,
    created_at REAL NOT NULL, updated_at REAL NOT NULL, request_id TEXT UNIQUE,
    message TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS tasks_by_update ON tasks (updated_at, id);
CREATE INDEX IF NOT EXISTS tasks_by_context ON tasks (context_id);
CREATE TABLE IF NOT EXISTS events (
    task_id TEXT NOT NULL, sequence INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (task_id, sequence)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS push_configs (
    task_id TEXT NOT NULL, id TEXT NOT NULL, config TEXT NOT NULL, PRIMARY KEY (task_id, id)
) WITHOUT ROWID;
"""
COLUMNS = "arrival, id, run, context_id, state, priority, created_at, updated_at, request_id, message, detail"
_DETAIL = (
    *("sender", "history", "pending", "prompt", "error", "note", "metadata", "receipts"),
    *("cancel_wanted", "at_work", "expires_at"),
)


def insertion(task: Task) -> Statement:
    """A task that has an arrival keeps it."""
    row = (
        *(task.arrival or None, task.id, task.run, task.context_id, task.state, task.priority),
        *(task.created_at, task.updated_at, task.request_id, dump(task.message), _detail(task)),
    )
    return f"INSERT INTO tasks ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row


def update(task: Task) -> Statement:
    return (
        "UPDATE tasks SET state = ?, updated_at = ?, detail = ? WHERE id = ?",
        (task.state, task.updated_at, _detail(task), task.id),
    )


def event(task_id: str, sequence: int, kind: str, data: Json) -> Statement:
    return "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?)", (task_id, sequence, kind, dump(data))


def push_config(task_id: str, config_id: str, config: Json) -> Statement:
    return "INSERT OR REPLACE INTO push_configs VALUES (?, ?, ?)", (task_id, config_id, dump(config))


def without_artifacts(task: Task) -> Statement:
    return "DELETE FROM events WHERE task_id = ? AND kind = 'artifact'", (task.id,)


def task_of(row: tuple[Any, ...]) -> Task:
    """The task of a row, without its events. Raises ValueError for a damaged row."""
    arrival, task_id, run, context_id, state, priority, *times, request_id, message, detail = row
    task = Task(task_id, context_id, json.loads(message), run, state, priority, arrival)
    (task.created_at, task.updated_at), task.request_id = times, request_id
    for name, value in json.loads(detail).items():
        setattr(task, name, value)
    task.pending = [task.message if given is None else given for given in task.pending]
    return task


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _detail(task: Task) -> str:
    detail = {name: value for name in _DETAIL if (value := getattr(task, name))}
    if task.pending:  # the first message has a column of its own
        detail["pending"] = [None if given is task.message else given for given in task.pending]
    if task.ended:
        detail["artifacts"] = task.artifacts
    return dump(detail)
