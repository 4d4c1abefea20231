"""What is said to the store is there afterwards, whatever happens to the disk."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse.tasks import database
from synapse.tasks.store import TaskStore
from synapse.tasks.task import GONE, StoreFailed, Task, TaskNotFound, text_message


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "REST", 0.0)
    monkeypatch.setattr(database, "PATIENCE", 0.01)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "tasks.db")


@pytest.fixture
def store(path: str) -> Iterator[TaskStore]:
    made = TaskStore(path, run="run-1")
    yield made
    made.close()


def artifact(text: str, artifact_id: str = "reply") -> dict[str, object]:
    return {
        "artifact_id": artifact_id,
        "type": "text",
        "name": "output",
        "parts": [{"type": "text", "text": text}],
    }


def facts(task: Task) -> tuple[object, ...]:
    return (task.to_dict(), task.arrival, task.sequence, task.pending, task.history, task.at_work, task.run)


def reopened(path: str, task: Task, run: str = "run-1") -> Task:
    other = TaskStore(path, run=run)
    if not task.ended:
        other.take_over()
    found = other.get(task.id)
    other.close()
    return found


# --- the specification's methods --------------------------------------------------------------------------


def test_a_task_from_creation_to_its_end(store: TaskStore, path: str) -> None:
    task = store.create(text_message("hello"), sender={"id": "x"}, metadata={"k": 1}, request_id="r")
    assert (task.state, task.arrival, task.run) == ("submitted", 1, "run-1")
    store.update_status(task.id, "working")
    store.add_artifact(task.id, artifact("hi"))
    store.set_input_required(task.id, {"type": "confirmation", "prompt": "go on?"})
    assert facts(reopened(path, task)) == facts(task)
    assert store.provide_input(task.id, "y") is True
    assert store.provide_input(task.id, "y") is False
    assert task.state == "working" and task.prompt is None
    store.update_status(task.id, "completed")
    assert store.live() == []
    again = store.get(task.id)
    assert again is not task and facts(again) == facts(task)
    assert again.reply == "hi" and again.history == [text_message("y")]


def test_the_first_end_is_the_end(store: TaskStore) -> None:
    task = store.create(text_message("x"))
    store.update_status(task.id, "canceled", note="enough")
    store.update_status(task.id, "completed")
    store.add_artifact(task.id, artifact("late"))
    store.add_receipt(task, "late")
    store.set_note(task, "late")
    found = store.get(task.id)
    assert (found.state, found.note, found.artifacts, found.receipts) == ("canceled", "enough", [], [])


def test_an_unknown_task_is_said_to_be_unknown(store: TaskStore) -> None:
    with pytest.raises(TaskNotFound, match="'nobody'"):
        store.get("nobody")


def test_events_are_numbered_from_one_without_a_gap(store: TaskStore) -> None:
    heard: list[int] = []
    store.on_event(lambda task, event: heard.append(event.number))
    task = store.create(text_message("x"))
    store.add_receipt(task, "queued", ahead=0)
    store.update_status(task.id, "working")
    store.add_artifact(task.id, artifact("a"), append=True)
    store.set_note(task, "waits")
    store.set_note(task, "waits")
    assert heard == [1, 2, 3, 4, 5] == [event.number for event in store.events(task.id)]
    assert [event.number for event in store.events(task.id, after=3)] == [4, 5]


# --- artifacts --------------------------------------------------------------------------------------------


def test_a_chunk_is_neither_copied_nor_saved_again(store: TaskStore, path: str) -> None:
    task = store.create(text_message("x"))
    row = "SELECT updated_at, detail FROM tasks"
    before, size = store._db.read(row), os.path.getsize(path + "-wal")
    for _ in range(1000):
        store.add_artifact(task.id, artifact("x" * 1024), append=True)
    assert store._db.read(row) == before
    assert os.path.getsize(path + "-wal") - size < 20_000_000  # SQLite writes pages; copies would be 500 MB
    assert len(task.artifacts) == 1 and len(task.artifacts[0]["parts"]) == 1000
    assert sum(len(event.data["artifact"]["parts"]) for event in store.events(task.id)[1:]) == 1000
    assert len(task.to_dict()["artifacts"][0]["parts"]) == 1 and len(task.reply) == 1024 * 1000
    store.update_status(task.id, "completed")
    assert [event.event_type for event in store.events(task.id)] == ["status", "status"]
    assert len(store.get(task.id).reply) == 1024 * 1000


def test_a_text_told_anew_replaces_what_is_kept_of_it(store: TaskStore, path: str) -> None:
    task = store.create(text_message("x"))
    for number in range(50):
        store.add_artifact(task.id, artifact(f"screen {number}"))
    assert [event.number for event in store.events(task.id)] == [1, 51]
    store.add_artifact(task.id, artifact("more", "other"))
    store.add_artifact(task.id, artifact("last"))
    assert [one["artifact_id"] for one in task.artifacts] == ["reply", "other"]
    assert facts(reopened(path, task)) == facts(task)


# --- runs -------------------------------------------------------------------------------------------------


def test_what_a_dead_run_left_fails_with_the_reason(store: TaskStore, path: str) -> None:
    left, wanted, done = (store.create(text_message(text)) for text in "abc")
    store.add_artifact(left.id, artifact("so far"))
    wanted.cancel_wanted = True
    store.save(wanted)
    store.update_status(done.id, "completed")
    store.close()
    other = TaskStore(path, run="run-2")
    assert other.take_over() == [] and other.live() == []
    assert other.get(left.id).error == GONE and other.get(left.id).state == "failed"
    assert other.get(left.id).reply == "so far"
    assert other.get(wanted.id).state == "canceled"
    assert other.get(done.id).state == "completed"
    assert TaskStore(path, run="run-3").get(left.id).sequence == other.get(left.id).sequence


def test_a_host_that_comes_back_finds_its_own(store: TaskStore, path: str) -> None:
    first, second = store.create(text_message("a")), store.create(text_message("b"))
    store.set_push_config(first.id, "p", {"url": "http://localhost/"})
    store.close()
    other = TaskStore(path, run="run-1")
    assert [facts(task) for task in other.take_over()] == [facts(first), facts(second)]
    assert other.take_over() == other.live()
    assert other.push_configs(first.id) == {"p": {"url": "http://localhost/"}}
    assert other.live()[0].pending[0] is other.live()[0].message


def test_a_long_message_is_stored_once(store: TaskStore, path: str) -> None:
    task = store.create(text_message("m" * 100_000))
    store.add_receipt(task, "queued")
    assert store._db.read("SELECT length(detail) < 1000 FROM tasks") == [(1,)]
    assert reopened(path, task).pending == [task.message]


# --- lists ------------------------------------------------------------------------------------------------


def test_lists_are_filtered_and_paged_latest_first(path: str) -> None:
    clock = iter(range(1000))
    store = TaskStore(path, clock=lambda: float(next(clock)))
    made = [store.create(text_message(str(n)), context_id="even" if n % 2 == 0 else "odd") for n in range(6)]
    store.update_status(made[0].id, "completed")
    assert [task.id for task in store.list_tasks(limit=2)] == [made[0].id, made[5].id]
    last = store.list_tasks(limit=2)[-1]
    page = store.list_tasks(after=(last.updated_at, last.id), limit=2)
    assert [task.id for task in page] == [made[4].id, made[3].id]
    assert store.list_tasks(states=["completed"])[0].id == made[0].id
    assert store.count(states=["submitted"], context_id="even") == 2
    assert store.count(since=made[4].created_at) == 3
    assert store.find_request("none") is None


def test_only_so_many_ended_tasks_are_kept(path: str) -> None:
    store = TaskStore(path, keep=20)
    dropped: list[str] = []
    store.on_dropped = dropped.extend
    live = store.create(text_message("live"))
    for number in range(250):
        task = store.create(text_message(str(number)))
        store.set_push_config(task.id, "p", {})
        store.update_status(task.id, "completed")
    assert store.count() <= 23 and len(dropped) == 251 - store.count() and live.id not in dropped
    assert store.get(live.id) is live
    for table in ("events", "push_configs"):
        gone = f"SELECT count(*) FROM {table} WHERE task_id NOT IN (SELECT id FROM tasks)"
        assert store._db.read(gone) == [(0,)]


# --- bad days ---------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_back_changes_no_order(path: str) -> None:
    now = [1000.0]
    store = TaskStore(path, clock=lambda: now[0])
    first = store.create(text_message("a"))
    now[0] = 10.0
    second = store.create(text_message("b"))
    store.update_status(first.id, "working")
    assert first.updated_at == 1000.0 and second.created_at == 10.0
    assert [task.id for task in store.live()] == [first.id, second.id]


def test_a_secret_is_in_no_file(store: TaskStore, path: str) -> None:
    task = store.create(text_message("log in"))
    store.set_input_required(task.id, {"type": "password", "prompt": "Password:"})
    assert store.provide_input(task.id, "hunter2-secret")
    store.update_status(task.id, "completed")
    store.close()
    for name in os.listdir(os.path.dirname(path)):
        assert b"hunter2" not in Path(os.path.dirname(path), name).read_bytes()
    assert "hunter2" not in str(reopened(path, task))


class Locked:
    """Somebody else holds the database."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> None:
        self._db.execute("BEGIN EXCLUSIVE")

    def __exit__(self, *error: object) -> None:
        self._db.execute("ROLLBACK")
        self._db.close()


def test_with_a_lock_nothing_is_accepted_and_nothing_lost(store: TaskStore, path: str) -> None:
    running, ending = store.create(text_message("a")), store.create(text_message("b"))
    with Locked(path):
        with pytest.raises(StoreFailed, match="locked"):
            store.create(text_message("c"))
        store.update_status(running.id, "working")
        store.add_artifact(running.id, artifact("so far"))
        store.add_artifact(ending.id, artifact("all"))
        store.update_status(ending.id, "completed")
        assert store.get(ending.id).state == "completed"  # the disk still says submitted
        store.update_status(ending.id, "failed")
        assert store.get(ending.id).state == "completed"
        assert [task.state for task in store.list_tasks()] in (
            ["completed", "working"],
            ["working", "completed"],
        )
        assert store._db.trouble
    assert store.count() == 2 and store._db.trouble == ""
    assert facts(reopened(path, running)) == facts(running)
    assert facts(reopened(path, ending)) == facts(ending)
    assert store.create(text_message("c")).arrival == 3


def test_with_a_full_disk_nothing_is_accepted_and_nothing_lost(store: TaskStore, path: str) -> None:
    running = store.create(text_message("a"))
    db = store._db._use()
    db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(StoreFailed, match="full"):
        store.create(text_message("x" * 50_000))
    store.add_artifact(running.id, artifact("y" * 50_000))
    store.update_status(running.id, "completed")
    assert store.get(running.id).reply == "y" * 50_000
    db.execute("PRAGMA max_page_count = 100000")
    store.count()
    assert facts(reopened(path, running)) == facts(running)


@pytest.mark.parametrize("when", ["read", "append", "create", "end"])
def test_a_file_damaged_under_us_costs_no_live_task(store: TaskStore, path: str, when: str) -> None:
    ended = store.create(text_message("ended"))
    store.update_status(ended.id, "completed")
    first, second = (store.create(text_message(text), request_id=text) for text in ("a", "b"))
    store.set_push_config(first.id, "p", {"url": "u"})
    store.update_status(first.id, "working")
    store.add_artifact(first.id, artifact("so "), append=True)
    store.add_artifact(first.id, artifact("far"), append=True)
    store._db._use().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(path, "r+b") as file:
        file.write(b"\x5a" * os.path.getsize(path))
    store._db._use().execute("PRAGMA cache_size = 0")
    store._db._use().execute("PRAGMA shrink_memory")
    if when == "append":
        store.add_artifact(first.id, artifact("!"), append=True)
    elif when == "create":
        assert store.create(text_message("c")).arrival > second.arrival
    elif when == "end":
        store.update_status(first.id, "completed")
    store.count()
    with pytest.raises(TaskNotFound):
        store.get(ended.id)
    for task in (first, second):
        assert facts(reopened(path, task)) == facts(task)
    assert store.push_configs(first.id) == {"p": {"url": "u"}}
    assert TaskStore(path, run="run-1").push_configs(first.id) == {"p": {"url": "u"}}
    assert store.find_request("b") is second
    assert store.create(text_message("d")).arrival > second.arrival
    assert any(".damaged-" in name for name in os.listdir(os.path.dirname(path)))


def test_one_row_that_cannot_be_read_hides_no_other(store: TaskStore, path: str) -> None:
    bad, good = store.create(text_message("a")), store.create(text_message("b"))
    store.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE tasks SET detail = '{\"sender\": ' WHERE id = ?", (bad.id,))
    db.commit()
    db.close()
    other = TaskStore(path, run="run-1")
    assert [task.id for task in other.take_over()] == [good.id]
    assert [task.id for task in other.list_tasks()] == [good.id]
    with pytest.raises(TaskNotFound):
        other.get(bad.id)


def test_short_ids_of_live_tasks_are_told_apart(store: TaskStore) -> None:
    made = [store.create(text_message("x")) for _ in range(50)]
    assert len({task.short_id for task in made}) == 50
