"""The tasks of all agents, as their files have them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from synapse import task_shelf
from synapse.task import GONE, Task, text_message
from synapse.task_store import TaskStore


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of one agent."""
    monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path))
    made = tmp_path / "agents" / ("a" * 64)
    made.mkdir(parents=True)
    return made


def test_what_asks_is_listed_first_however_old(folder: Path) -> None:
    store = TaskStore(str(folder / "tasks.db"), run="run-1")
    asks, waits, *done = (store.create(text_message(f"message {number}")) for number in range(6))
    for task in done:
        store.update_status(task.id, "completed")
    store.update_status(asks.id, "input_required", prompt={"prompt": "Shall I?"})
    store.close()
    found = [task.id for _, task in task_shelf.list_tasks(limit=3)]
    assert found == [asks.id, waits.id, done[-1].id]


def test_what_a_dead_agent_has_left_unfinished_has_failed(folder: Path) -> None:
    store = TaskStore(str(folder / "tasks.db"), run="run-1")
    task = store.create(text_message("hello"))
    store.close()
    known = asyncio.run(task_shelf.last_known(task.id))
    assert isinstance(known, Task) and known.ended and known.error == GONE
    assert asyncio.run(task_shelf.last_known("0123456789")) is None
