"""The tasks of all agents, as their files have them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse.registry import AgentRegistry
from synapse.tasks import shelf as task_shelf
from synapse.tasks.store import TaskStore
from synapse.tasks.task import GONE, Task, text_message

AGENT = "a" * 64


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of one agent."""
    monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path))
    monkeypatch.setenv("A2A_HOME", str(tmp_path / "a2a"))
    made = tmp_path / "agents" / AGENT
    made.mkdir(parents=True)
    return made


@pytest.fixture
def alive(folder: Path) -> Iterator[AgentRegistry]:
    registry = AgentRegistry()
    registry.register(AGENT, "dummy", 8200)
    yield registry
    registry.unregister(AGENT)


@pytest.mark.usefixtures("alive")
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


def test_nothing_of_a_dead_agent_is_listed_as_if_it_would_still_be_done(
    folder: Path, alive: AgentRegistry
) -> None:
    store = TaskStore(str(folder / "tasks.db"), run="run-1")
    waits, asks, done, unwanted = (store.create(text_message(f"message {number}")) for number in range(4))
    store.update_status(asks.id, "input_required", prompt={"prompt": "Shall I?"})
    store.update_status(done.id, "completed")
    unwanted.cancel_wanted = True
    store.save(unwanted)
    store.close()

    def states() -> list[str]:
        found = {task.id: task for _, task in task_shelf.list_tasks()}
        return [found[task.id].state for task in (waits, asks, done, unwanted)]

    assert states() == ["submitted", "input_required", "completed", "submitted"]
    alive.unregister(AGENT)
    assert states() == ["failed", "failed", "completed", "canceled"]
    assert [task.id for _, task in task_shelf.list_tasks(limit=2)] == [unwanted.id, done.id], "the latest"
    _, known = task_shelf.find_task(asks.id)
    assert (known.state, known.error, known.prompt) == ("failed", GONE, None)
