"""Reads the tasks of all agents, running or not, from their files.

A task of a dead agent that its file has as unfinished counts as failed."""

import asyncio
import os
import sqlite3
from collections.abc import Iterator

from synapse.base import paths
from synapse.base.states import CANCELED, FAILED, INPUT_REQUIRED, SUBMITTED, WORKING
from synapse.errors import SynapseError, TargetError
from synapse.registry import AgentRegistry
from synapse.tasks import rows as task_rows
from synapse.tasks.task import GONE, Task

FEWEST = 4  # characters of an abbreviated id
URGENCY = (INPUT_REQUIRED, WORKING, SUBMITTED)  # listed first, in this order


def list_tasks(agent_id: str | None = None, limit: int = 50) -> list[tuple[str, Task]]:
    """Tasks of one agent or of all, each with its agent's id: unfinished ones first, then the latest."""
    found: dict[str, tuple[str, Task]] = {}
    for known, db in _shelves(agent_id):
        sql = f"SELECT {task_rows.COLUMNS} FROM tasks"
        tasks = _tasks(db, f"{sql} WHERE state IN (?, ?, ?)", URGENCY)
        tasks += _tasks(db, f"{sql} ORDER BY updated_at DESC LIMIT ?", (limit,))
        if any(not task.ended for task in tasks) and not AgentRegistry().is_alive(known):
            for task in tasks:
                _end(task)
        found |= {task.id: (known, task) for task in tasks}
    return sorted(found.values(), key=lambda pair: (rank(pair[1]), -pair[1].updated_at))[:limit]


def rank(task: Task) -> int:
    return URGENCY.index(task.state) if task.state in URGENCY else len(URGENCY)


def find_task(task_id: str) -> tuple[str, Task]:
    known, task = _find(task_id)
    if not task.ended and not AgentRegistry().is_alive(known):
        _end(task)
    return known, task


def find_request(agent_id: str, request_id: str) -> Task | None:
    """The task that a request has become, from the file of its agent."""
    for known, db in _shelves(agent_id):
        sql = f"SELECT {task_rows.COLUMNS} FROM tasks WHERE request_id = ?"
        for task in _tasks(db, sql, (request_id,)):
            if not task.ended and not AgentRegistry().is_alive(known):
                _end(task)
            return task
    return None


def _end(task: Task) -> None:
    if not task.ended:
        task.state, task.error = (CANCELED, None) if task.cancel_wanted else (FAILED, GONE)
        task.prompt, task.note = None, ""


def _find(task_id: str) -> tuple[str, Task]:
    pattern = task_id.lower()
    found = []
    if len(pattern) >= FEWEST and set(pattern) <= set("0123456789abcdef-"):
        for known, db in _shelves(None):
            sql = f"SELECT {task_rows.COLUMNS} FROM tasks WHERE id >= ? AND id < ?"
            found += [(known, task) for task in _tasks(db, sql, (pattern, pattern + "~"))]
    if len(found) > 1:
        ids = ", ".join(task.id for _, task in found[:5])
        raise TargetError(f"{task_id!r} is the beginning of several tasks ({ids}): give more of it.")
    if not found:
        raise TargetError(f"there is no task {task_id!r}: `synapse tasks` lists them.")
    return found[0]


async def last_known(task_id: str) -> Task | None:
    """A task whose agent has ended, or None if it is unknown. The host that ends has two seconds to end it in
    its file; then it counts as failed."""
    for _ in range(40):
        try:
            known = _find(task_id)[1]
        except SynapseError:
            return None
        if known.ended:
            return known
        await asyncio.sleep(0.05)
    _end(known)
    return known


def _shelves(agent_id: str | None) -> Iterator[tuple[str, sqlite3.Connection]]:
    root = os.path.join(paths.synapse_home(), "agents")
    try:
        names = [agent_id] if agent_id is not None else sorted(os.listdir(root))
    except FileNotFoundError:
        return
    for name in names:
        path = os.path.join(root, name, "tasks.db")
        if not os.path.exists(path):
            continue
        try:
            db = sqlite3.connect(f"file:{path.replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise SynapseError(f"cannot read {path}: {error}.") from error
        try:
            yield name, db
        finally:
            db.close()


def _tasks(db: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> list[Task]:
    tasks = []
    try:
        for row in db.execute(sql, values).fetchall():
            try:
                tasks.append(task_rows.task_of(row))
            except ValueError:
                continue  # damaged
    except sqlite3.Error:
        return []  # not a file of ours, or one that is being made
    return tasks
