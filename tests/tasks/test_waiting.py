"""What the tasks in the queue are told, and when they expire."""

from __future__ import annotations

from pathlib import Path

from synapse.tasks.engine import TaskEngine
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Task, text_message
from synapse.tasks.waiting import WaitingTasks


class Queue:
    def __init__(self, path: Path | None = None) -> None:
        self.now = 1000.0
        self.path = path
        self.open()

    def open(self) -> None:
        self.engine = TaskEngine(TaskStore(str(self.path or ":memory:"), "run", clock=lambda: self.now))
        self.waiting = WaitingTasks(self.engine)

    def send(self, text: str, expires: float | None = None, priority: int = 1) -> Task:
        return self.engine.submit(text_message(text), expires=expires, priority=priority)

    def notes(self) -> list[str]:
        return [task.note for task in self.engine.waiting]


def test_each_says_how_many_are_ahead_while_the_queue_moves() -> None:
    queue = Queue()
    first, second, third = (queue.send(text) for text in "abc")
    queue.waiting.tell("a human is typing", asks=False)
    assert queue.notes() == ["a human is typing", "1 message is ahead of it", "2 messages are ahead of it"]
    queue.engine.start(first)
    assert first.note == "", "it waits no longer"
    queue.waiting.tell("the agent is busy with a task of claude", asks=False)
    assert queue.notes() == ["the agent is busy with a task of claude", "2 messages are ahead of it"]
    queue.send("d", priority=3)
    queue.waiting.tell("busy", asks=False)
    assert queue.notes() == ["busy", "2 messages are ahead of it", "3 messages are ahead of it"]
    assert (second.note, third.note) == ("2 messages are ahead of it", "3 messages are ahead of it")


def test_a_question_is_said_to_all_that_wait_behind_it() -> None:
    queue = Queue()
    for text in "ab":
        queue.send(text)
    queue.waiting.tell("the agent asks something: Go?", asks=True)
    assert queue.notes() == [
        "the agent asks something: Go?",
        "the agent asks something: Go?; 1 message is ahead of it",
    ]


def test_a_note_is_an_event_once() -> None:
    queue = Queue()
    task = queue.send("a")
    for _ in range(3):
        queue.waiting.tell("the agent asks something", asks=True)
    events = queue.engine.store.events(task.id)
    noted = [event.data for event in events if event.event_type == "status" and event.data.get("note")]
    assert [(data["state"], data["note"]) for data in noted] == [("submitted", "the agent asks something")]


def test_one_that_is_not_typed_in_time_fails_and_says_what_it_waited_for() -> None:
    queue = Queue()
    soon, later, never = queue.send("a", 2.0), queue.send("b", 5.0), queue.send("c")
    assert queue.waiting.tell("the agent asks something: Go?", asks=True) == 2.0
    queue.now += 2.0
    assert queue.waiting.tell("the agent asks something: Go?", asks=True) == 3.0
    assert soon.state == "failed" and soon.error == {
        "code": "EXPIRED",
        "message": "it expired after 2 s and was not typed: the agent asks something: Go?",
    }
    assert later.state == never.state == "submitted"
    queue.now += 3.0
    assert queue.waiting.tell("", asks=False) is None
    assert later.state == "failed" and never.state == "submitted"


def test_one_that_was_begun_does_not_expire() -> None:
    queue = Queue()
    task = queue.send("a", 2.0)
    queue.engine.start(task)
    queue.engine.given(task)
    queue.now += 10.0
    assert queue.waiting.tell("", asks=False) is None and task.state == "working"


def test_an_expiry_outlives_the_host(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "tasks.db")
    task = queue.send("a", 60.0)
    assert task.to_dict()["expires_at"] == "1970-01-01T00:17:40.000Z"
    queue.engine.store.close()
    queue.open()
    queue.engine.take_up()
    queue.now += 61.0
    queue.waiting.tell("the agent is starting", asks=False)
    found = queue.engine.store.get(task.id)
    assert found.error is not None and found.error["code"] == "EXPIRED"
    queue.engine.store.close()
