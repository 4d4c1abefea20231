"""The tasks of all agents, running or not, as their files have them. Only reads."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator

from synapse import paths, task_rows
from synapse.errors import SynapseError, TargetError
from synapse.task import Task

FEWEST = 4  # characters of an id that can stand for it


def list_tasks(agent_id: str | None = None, limit: int = 50) -> list[tuple[str, Task]]:
    """The latest of one agent or of all, each with its agent's id, the latest changed first."""
    found = []
    for known, db in _shelves(agent_id):
        sql = f"SELECT {task_rows.COLUMNS} FROM tasks ORDER BY updated_at DESC LIMIT ?"
        found += [(known, task) for task in _tasks(db, sql, (limit,))]
    return sorted(found, key=lambda pair: -pair[1].updated_at)[:limit]


def find_task(task_id: str) -> tuple[str, Task]:
    """The one task whose id begins so, with its agent's id."""
    pattern = "".join(c for c in task_id.lower() if c in "0123456789abcdef-")
    found = []
    if len(pattern) >= FEWEST and pattern == task_id.lower():
        for known, db in _shelves(None):
            sql = f"SELECT {task_rows.COLUMNS} FROM tasks WHERE id >= ? AND id < ?"
            found += [(known, task) for task in _tasks(db, sql, (pattern, pattern + "~"))]
    if len(found) > 1:
        ids = ", ".join(task.id for _, task in found[:5])
        raise TargetError(f"{task_id!r} is the beginning of several tasks: {ids}. Give more of it.")
    if not found:
        raise TargetError(f"there is no task {task_id!r}: `synapse tasks` lists them.")
    return found[0]


async def last_known(task_id: str) -> Task | None:
    """A task whose agent has gone, once it has ended in its file or a moment has passed; None: unknown."""
    known = None
    for _ in range(40):
        try:
            known = find_task(task_id)[1]
        except SynapseError:
            break
        if known.ended:
            break
        await asyncio.sleep(0.05)
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
                continue  # damaged: the host sets it aside
    except sqlite3.Error:
        return []  # not a file of ours, or one that is being made
    return tasks
