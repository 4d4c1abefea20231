"""The engine: tasks in, in order, each to one end."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule

from synapse.base.states import END_STATES
from synapse.event_emitter import SSEEvent
from synapse.tasks.engine import Limits, TaskEngine, derived_artifact
from synapse.tasks.store import TaskStore
from synapse.tasks.task import (
    GONE,
    BadMessage,
    NotAllowed,
    NotCancelable,
    QueueFull,
    Task,
    TaskNotFound,
    TooLarge,
    WrongState,
    text_message,
)
from tests.support.dialect_courier import KILOBYTE, ScriptedCourier
from tests.support.parking import park
from tests.support.patience import PATIENCE


def engine_of(path: Path | None = None, run: str = "run-1", **limits: int) -> TaskEngine:
    return TaskEngine(TaskStore(str(path) if path else ":memory:", run), Limits(**limits))


def say(engine: TaskEngine, text: str, **more: Any) -> Task:
    return engine.submit(text_message(text), **more)


def with_courier(test: Callable[[TaskEngine, ScriptedCourier], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        engine = engine_of()
        courier = ScriptedCourier(engine)
        try:
            async with asyncio.timeout(PATIENCE):
                await test(engine, courier)
        finally:
            await courier.close()

    asyncio.run(main())


# --- taking in --------------------------------------------------------------------------------------------


def test_order_is_priority_then_arrival() -> None:
    engine = engine_of()
    for text, priority in (("a", 1), ("b", 3), ("c", 1), ("d", 5), ("e", 3)):
        say(engine, text, priority=priority)
    order = []
    while task := engine.first():
        assert task is engine.waiting[0]
        order.append(engine.start(task)["parts"][0]["text"])
        engine.given(task)
        engine.finish(task, "done", "exact")
    assert order == ["d", "b", "e", "a", "c"]


def test_the_receipt_says_how_many_are_ahead() -> None:
    engine = engine_of()
    say(engine, "a", priority=2)
    say(engine, "b")
    task = say(engine, "c", priority=2)
    assert task.receipts[0]["step"] == "queued" and task.receipts[0]["ahead"] == 1


def test_a_full_queue_refuses_and_takes_again() -> None:
    engine = engine_of(queue=2)
    first = say(engine, "a")
    say(engine, "b")
    with pytest.raises(QueueFull, match="2 tasks wait"):
        say(engine, "c")
    engine.start(first)
    say(engine, "c")


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({}, BadMessage),
        ({"parts": []}, BadMessage),
        ({"parts": "text"}, BadMessage),
        ({"parts": ["text"]}, BadMessage),
        ({"parts": [{"type": "video"}]}, BadMessage),
        ({"parts": [{"type": "text"}]}, BadMessage),
        ({"parts": [{"type": "text", "text": 5}]}, BadMessage),
        ({"parts": [{"type": "data"}]}, BadMessage),
        ({"parts": [{"type": "file", "name": "x"}]}, BadMessage),
        (text_message(""), BadMessage),
        (text_message(" \n\t "), BadMessage),
        (text_message("\x00\x1b​"), BadMessage),
        ({"parts": [{"type": "data", "data": [float("nan")]}]}, BadMessage),
        (text_message("x" * 2001), TooLarge),
        (text_message("ん" * 667), TooLarge),
        (text_message("x", metadata={"k": "y" * 2000}), TooLarge),
    ],
)
def test_what_cannot_be_given_to_the_agent_is_refused(message: dict[str, Any], error: type) -> None:
    engine = engine_of(message=2000)
    with pytest.raises(error) as caught:
        engine.submit({"role": "user", **message})
    assert str(caught.value).endswith(".") and engine.waiting == [] and engine.store.count() == 0


@pytest.mark.parametrize(
    "message",
    [
        text_message("x" * 2000, message_id="m" * 36, metadata={"hops": ["a"] * 20}),
        {"role": "user", "parts": [{"type": "text", "text": text} for text in ("ん" * 333, "x" * 1001)]},
    ],
)
def test_a_message_may_say_as_much_as_the_limit(message: dict[str, Any]) -> None:
    """The text alone is counted, not what carries it."""
    assert engine_of(message=2000).submit(message).message["parts"] == message["parts"]
    with pytest.raises(TooLarge, match="has 2000 bytes, more than the 1999"):
        engine_of(message=1999).submit(message)


def test_limits_are_inclusive() -> None:
    engine = engine_of(message=2000)
    say(engine, "x" * (2000 - len("rolepartsusertypetexttext")))


def test_a_message_nested_too_deeply_is_refused() -> None:
    data: Any = 1
    for _ in range(5000):
        data = [data]
    with pytest.raises(BadMessage, match="nested"):
        engine_of().submit({"role": "user", "parts": [{"type": "data", "data": data}]})


@pytest.mark.parametrize("priority", [0, 6, -1])
def test_a_priority_that_is_none_is_refused(priority: int) -> None:
    with pytest.raises(BadMessage, match="1 to 5"):
        say(engine_of(), "x", priority=priority)


def test_halves_of_characters_are_put_together(tmp_path: Path) -> None:
    engine = engine_of(tmp_path / "db")
    task = say(engine, "a\ud83d\ude00b\ud83d")
    assert task.message["parts"][0]["text"] == "a\U0001f600b\ufffd"
    engine.start(task)
    engine.given(task)
    engine.progress(task, "\udc00", append=True)
    engine.asks(task, {"type": "text", "prompt": "\udc00?"})
    engine.finish(task, "x\udc00", "exact", [derived_artifact({"type": "text", "parts": []}, 1)])
    json.dumps(engine.store.get(task.id).to_dict(), ensure_ascii=False).encode()
    assert engine.store._db.trouble == ""


def test_the_same_request_is_the_same_task(tmp_path: Path) -> None:
    engine = engine_of(tmp_path / "db")
    task = say(engine, "a", request_id="r")
    assert say(engine, "a", request_id="r") is task and len(engine.waiting) == 1
    engine.start(task)
    engine.given(task)
    engine.finish(task, "done", "exact")
    assert say(engine, "a", request_id="r").state == "completed"
    assert say(engine, "a").id != task.id
    assert engine_of(tmp_path / "db", "run-2").submit(text_message("a"), request_id="r").id == task.id


def test_a_live_task_is_found_by_its_short_id() -> None:
    engine = engine_of()
    task = say(engine, "a")
    assert engine.find(task.short_id) is task is engine.find(task.id)
    for wrong in (task.id[:4], "ffffffff", ""):
        with pytest.raises(TaskNotFound):
            engine.find(wrong)


# --- messages to a task -----------------------------------------------------------------------------------


def test_more_for_a_queued_task_is_given_after_its_first_message() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        hold = say(engine, "hold")
        task = say(engine, "one")
        await engine.follow_up(task.id, text_message("two"))
        courier.release.set()
        assert (await engine.wait(task.id)).reply == "two"
        assert courier.seen == ["hold", "one", "two"] and hold.ended
        assert [message["role"] for message in engine.store.get(task.id).history] == [
            "user",
            "agent",
            "agent",
        ]

    with_courier(test)


def test_more_for_a_running_task_is_given_when_its_turn_is_over() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        task = say(engine, "hold")
        await asyncio.sleep(0.01)
        await engine.follow_up(task.id, text_message("and this"))
        courier.release.set()
        assert (await engine.wait(task.id)).reply == "and this"
        assert engine.running is None and engine.waiting == []

    with_courier(test)


def test_the_answer_to_an_open_prompt_goes_to_the_courier() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        task = say(engine, "ask go on?")
        assert (await engine.wait(task.id)).state == "input_required"
        assert task.prompt and task.prompt["prompt"] == "go on?"
        with pytest.raises(NotAllowed):
            await engine.answer(task.id, "y", by={"id": "stranger"})
        with pytest.raises(TooLarge):
            await engine.answer(task.id, "y" * 1_000_001)
        await engine.follow_up(task.id, text_message("y"), sender={"id": "me"})
        assert courier.answers == [("y", {"id": "me"})]
        assert (await engine.wait(task.id)).reply == "you said y"
        with pytest.raises(WrongState, match="does not wait for input"):
            await engine.answer(task.id, "y")

    with_courier(test)


def test_an_answer_may_be_empty() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        task = say(engine, "ask go on?")
        await engine.wait(task.id)
        await engine.answer(task.id, "")
        assert (await engine.wait(task.id)).reply == "you said "

    with_courier(test)


def test_a_parked_task_holds_nothing_and_its_answer_is_a_message() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        task = say(engine, "park which one?")
        await engine.wait(task.id)
        assert engine.running is None
        assert (await engine.wait(say(engine, "other").id)).reply == "other"
        await engine.answer(task.id, "this one")
        assert task.prompt is None
        assert (await engine.wait(task.id)).reply == "this one"

    with_courier(test)


def test_a_secret_is_not_taken_for_a_prompt_that_is_gone() -> None:
    async def main() -> None:
        engine = engine_of()
        task = say(engine, "x")
        engine.start(task)
        engine.given(task)
        park(engine, task, {"type": "password", "prompt": "Password:"})
        with pytest.raises(WrongState, match="secret"):
            await engine.answer(task.id, "hunter2")
        assert "hunter2" not in str(engine.store.get(task.id))

    asyncio.run(main())


def test_a_secret_is_in_no_file(tmp_path: Path) -> None:
    async def main() -> None:
        engine = engine_of(tmp_path / "db")
        courier = ScriptedCourier(engine)
        task = say(engine, "secret")
        await engine.wait(task.id)
        await engine.follow_up(task.id, text_message("hunter2"))
        assert (await engine.wait(task.id)).reply == "thanks"
        await courier.close()
        engine.store.close()

    asyncio.run(main())
    assert all(b"hunter2" not in path.read_bytes() for path in tmp_path.iterdir())


def test_what_is_wrong_with_a_message_to_a_task_is_said() -> None:
    async def main() -> None:
        engine = engine_of(queue=2)
        task = say(engine, "a")
        with pytest.raises(BadMessage, match="another context"):
            await engine.follow_up(task.id, text_message("b"), context_id="elsewhere")
        with pytest.raises(BadMessage, match="empty"):
            await engine.follow_up(task.id, text_message(" "))
        await engine.follow_up(task.id, text_message("b"), context_id=task.context_id)
        with pytest.raises(QueueFull):
            await engine.follow_up(task.id, text_message("c"))
        await engine.cancel(task.id)
        with pytest.raises(WrongState, match="is canceled"):
            await engine.follow_up(task.id, text_message("b"))
        with pytest.raises(TaskNotFound):
            await engine.follow_up("nobody", text_message("b"))

    asyncio.run(main())


# --- canceling --------------------------------------------------------------------------------------------


def test_a_queued_task_is_canceled_at_once() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        say(engine, "hold")
        task = say(engine, "never")
        assert (await engine.cancel(task.id)).state == "canceled"
        with pytest.raises(NotCancelable):
            await engine.cancel(task.id)
        courier.release.set()
        await engine.wait(say(engine, "last").id)
        assert courier.seen == ["hold", "last"]

    with_courier(test)


def test_a_running_task_is_canceled_by_the_courier() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        task = say(engine, "hang")
        await asyncio.sleep(0.01)
        done = await engine.cancel(task.id)
        assert (done.state, done.note) == ("canceled", "interrupted")

    with_courier(test)


def test_a_task_that_cannot_be_stopped_is_said_to_be_still_at_it() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        task = say(engine, "hold")
        await asyncio.sleep(0.01)
        assert (await engine.cancel(task.id, patience=0.01)).state == "working"
        courier.release.set()
        assert (await engine.wait(task.id)).state == "completed"
        assert engine.emitters.get(task.id) is None

    with_courier(test)


# --- following --------------------------------------------------------------------------------------------


def test_a_subscriber_has_a_snapshot_and_then_every_event() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        task = say(engine, "hold")
        await asyncio.sleep(0.01)
        found, events = engine.subscribe(task.id)
        assert found is task and events is not None
        seen = found.sequence
        await engine.follow_up(task.id, text_message("chunks 1000"))
        listening = [asyncio.create_task(collect(engine, task)) for _ in range(50)]
        courier.release.set()
        own = [event.number async for event in events]
        assert own == list(range(seen + 1, task.sequence + 1))
        for heard in await asyncio.gather(*listening):
            assert [event.number for event in heard] == own
        assert engine.subscribe(task.id)[1] is None
        assert engine.store.get(task.id).reply == KILOBYTE * 1000

    async def collect(engine: TaskEngine, task: Task) -> list[SSEEvent]:
        events = engine.subscribe(task.id)[1]
        assert events is not None
        return [event async for event in events]

    with_courier(test)


def test_waiting_leaves_no_listener_behind() -> None:
    async def main() -> None:
        engine = engine_of()
        task = say(engine, "a")
        assert (await engine.wait(task.id, timeout=0.01)).state == "submitted"
        emitter = engine.emitters.get(task.id)
        assert emitter and emitter.listeners == 0
        waiting = asyncio.create_task(engine.wait(task.id))
        await asyncio.sleep(0)
        assert emitter.listeners == 1
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert emitter.listeners == 0

    asyncio.run(main())


def test_the_end_is_told_once() -> None:
    engine = engine_of()
    ends: list[str] = []
    engine.store.on_event(lambda task, _: ends.append(task.id) if task.ended else None)
    task = say(engine, "a")
    engine.start(task)
    engine.given(task)
    engine.finish(task, "done", "exact")
    engine.fail(task, {"code": "X"})
    engine.canceled(task, "late")
    engine.finish(task, "again", "exact")
    engine.put_back(task)
    assert ends == [task.id] and engine.waiting == [] and engine.store.get(task.id).reply == "done"


def test_when_the_agent_is_gone_everything_fails_with_the_reason() -> None:
    async def test(engine: TaskEngine, courier: ScriptedCourier) -> None:
        tasks = [say(engine, "hold"), say(engine, "never")]
        await asyncio.sleep(0.01)
        engine.end({"code": "AGENT_GONE", "message": "exit status 1"})
        courier.release.set()
        await asyncio.sleep(0.01)
        for task in tasks:
            assert task.state == "failed" and task.error and task.error["message"] == "exit status 1"
        assert engine.running is None and engine.waiting == []

    with_courier(test)


# --- restarts ---------------------------------------------------------------------------------------------


def test_a_restart_at_every_step(tmp_path: Path) -> None:
    """What a new host finds: queued again, perhaps with the agent, or parked. `-` begins another host."""
    steps: dict[str, Callable[[TaskEngine, Task], object]] = {
        "start": lambda engine, task: engine.start(task),
        "typing": lambda engine, task: engine.store.add_receipt(task, "typing"),
        "submitted": lambda engine, task: engine.store.add_receipt(task, "submitted"),
        "enter": lambda engine, task: engine.store.add_receipt(task, "enter again"),
        "replied": lambda engine, task: engine.store.add_receipt(task, "replied"),
        "given": lambda engine, task: engine.given(task),
        "confirmed": lambda engine, task: engine.store.add_receipt(task, "confirmed"),
        "progress": lambda engine, task: engine.progress(task, "so far", append=False),
        "asks": lambda engine, task: engine.asks(task, {"type": "text", "prompt": "?"}),
        "provide": lambda engine, task: engine.store.provide_input(task.id, "y"),
        "more": lambda engine, task: asyncio.run(engine.follow_up(task.id, text_message("more"))),
        "put_back": lambda engine, task: engine.put_back(task),
        "park": lambda engine, task: park(engine, task, {"type": "text", "prompt": "?"}),
        "finish": lambda engine, task: engine.finish(task, "done", "exact"),
        "cancel": lambda engine, task: asyncio.run(engine.cancel(task.id, patience=0)),
    }
    cases = {
        "": "queued",
        "start": "queued",
        "start cancel": "canceled",
        "start typing": "begun",
        "start typing put_back": "queued",
        "start typing put_back start typing": "begun",
        "start typing submitted": "begun",
        "start typing submitted enter": "begun",
        "start typing submitted confirmed": "begun",
        "start typing submitted cancel": "begun",
        "start typing submitted given": "begun",
        "start typing submitted confirmed given": "begun",
        "start typing submitted confirmed given more": "begun",  # the turn first, then what came meanwhile
        "start typing submitted confirmed given progress": "begun",
        "start typing submitted confirmed given cancel": "begun",
        "start typing submitted confirmed given asks": "begun",
        "start typing submitted confirmed given asks provide": "begun",
        "start typing submitted confirmed given park": "parked",
        "start typing submitted confirmed given park more": "queued",
        "start typing submitted confirmed given more replied finish": "queued",
        "start typing submitted confirmed given finish": "completed",
        "cancel": "canceled",
    }
    for number, (case, expected) in enumerate(cases.items()):
        engine = engine_of(tmp_path / str(number))
        task = say(engine, "do it", request_id="r")
        for word in case.split():
            steps[word](engine, task)
        pending = list(task.pending)
        del engine  # killed: nothing is closed
        after = engine_of(tmp_path / str(number))
        begun = after.take_up()
        found = after.store.get(task.id)
        where = (
            "begun"
            if found in begun
            else "queued"
            if found in after.waiting
            else "parked"
            if found.state == "input_required"
            else found.state
        )
        assert where == expected, case
        if where not in ("canceled", "completed"):
            assert found.pending == pending, case
            assert found.history == task.history and found.receipts == task.receipts, case
            assert found.to_dict()["artifacts"] == task.to_dict()["artifacts"], case
        assert found.sequence >= task.sequence, case
        waiting = list(after.waiting)
        assert after.take_up() == begun and after.waiting == waiting, case
        for task in begun:  # as a courier does that finds the agent at work on it
            after.given(task)
            follow_ups = [message for message in pending if message is not task.message][-1:]
            assert task.pending == (follow_ups if "more" in case else []), case
        assert engine_of(tmp_path / str(number), "run-2").take_up() == []
        last = engine_of(tmp_path / str(number), "run-3").store.get(task.id)
        assert last.ended and (last.error in (None, GONE)), case


def test_an_agent_that_is_gone_before_its_new_host_has_looked_fails_what_the_old_one_left(
    tmp_path: Path,
) -> None:
    task = say(engine_of(tmp_path / "db"), "do it")
    after = engine_of(tmp_path / "db")
    after.end({"code": "AGENT_GONE", "message": "exit status 1"})
    found = after.store.get(task.id)
    assert found.state == "failed" and found.error and found.error["message"] == "exit status 1"


def test_a_task_just_created_is_not_lost(tmp_path: Path) -> None:
    """Killed after the row and before anything else."""
    store = TaskStore(str(tmp_path / "db"), "run-1")
    task = store.create(text_message("x"))
    after = engine_of(tmp_path / "db")
    assert after.take_up() == [] and [found.id for found in after.waiting] == [task.id]
    first = after.first()
    assert first and after.start(first) == text_message("x")


def test_what_the_agent_still_has_after_a_restart_is_canceled_by_the_courier(tmp_path: Path) -> None:
    async def main() -> None:
        before = engine_of(tmp_path / "db")
        task = say(before, "x")
        before.start(task)
        before.given(task)
        before.asks(task, {"type": "text", "prompt": "?"})
        after = engine_of(tmp_path / "db")
        (begun,) = after.take_up()
        with pytest.raises(WrongState, match="cannot be reached yet"):
            await after.answer(begun.id, "y")
        assert (await after.cancel(begun.id, patience=0.01)).state == "input_required"
        assert begun.cancel_wanted

    asyncio.run(main())


# --- anything, in any order -------------------------------------------------------------------------------


class Anything(RuleBasedStateMachine):
    """Each accepted task ends at most once, its events have consecutive numbers, and what memory says is
    what a store that is opened beside it says."""

    tasks: Bundle[str] = Bundle("tasks")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "db")
        self.events: defaultdict[str, list[int]] = defaultdict(list)
        self.ends: list[str] = []
        self.begin()

    def begin(self) -> None:
        self.engine = engine_of(self.path, queue=4)
        self.engine.store.on_event(lambda task, event: self.events[task.id].append(event.number))
        self.engine.store.on_event(lambda task, _: self.ends.append(task.id) if task.ended else None)

    def teardown(self) -> None:
        self.engine.store.close()
        self.folder.cleanup()

    @rule(target=tasks, priority=st.integers(1, 5), request=st.sampled_from([None, "r1", "r2"]))
    def submit(self, priority: int, request: str | None) -> Any:
        try:
            return say(self.engine, "x", priority=priority, request_id=request).id
        except QueueFull:
            assert len(self.engine.waiting) == 4
            return multiple()

    @rule(task_id=tasks)
    def more(self, task_id: str) -> None:
        try:
            asyncio.run(self.engine.follow_up(task_id, text_message("more")))
        except (WrongState, QueueFull):
            pass
        except TaskNotFound:
            assert task_id in self.ends  # and lost with a damaged file

    @rule(task_id=tasks)
    def cancel(self, task_id: str) -> None:
        try:
            asyncio.run(self.engine.cancel(task_id, patience=0))
        except (NotCancelable, TaskNotFound):
            assert task_id in self.ends

    @precondition(lambda self: self.engine.running is None)
    @rule(then=st.sampled_from(["put_back", "given"]))
    def start(self, then: str) -> None:
        if task := self.engine.first():
            assert self.engine.start(task)
            getattr(self.engine, then)(task)

    @precondition(lambda self: self.engine.running is not None)
    @rule(what=st.sampled_from(["progress", "asks", "finish", "park", "fail", "canceled", "receipt"]))
    def happen(self, what: str) -> None:
        task, engine = self.engine.running, self.engine
        assert task is not None
        match what:
            case "progress":
                engine.progress(task, "text", append=bool(task.sequence % 2))
            case "asks":
                engine.asks(task, {"type": "text", "prompt": "?"})
            case "finish":
                engine.finish(task, "reply", "exact", [derived_artifact({"type": "text", "parts": []}, 1)])
            case "park":
                park(engine, task)
            case "fail":
                engine.fail(task, {"code": "X"})
            case "canceled":
                engine.canceled(task, "interrupted")
            case "receipt":
                engine.store.add_receipt(task, "typing")

    @rule()
    def restart(self) -> None:
        """Killed, and begun again by the same run; what the agent may have is given up."""
        self.begin()
        for task in self.engine.take_up():
            self.engine.fail(task, {"code": "LOST"})

    @rule()
    def damage(self) -> None:
        self.engine.store._db._use().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.path.write_bytes(b"\x5a" * self.path.stat().st_size)
        self.engine.store._db._use().execute("PRAGMA cache_size = 0")
        self.engine.store._db._use().execute("PRAGMA shrink_memory")
        self.engine.store.count()

    @invariant()
    def each_ends_once(self) -> None:
        assert len(self.ends) == len(set(self.ends))

    @invariant()
    def numbers_are_consecutive(self) -> None:
        for task_id, numbers in self.events.items():
            assert numbers == list(range(1, len(numbers) + 1)), task_id

    @invariant()
    def memory_and_disk_agree(self) -> None:
        other = TaskStore(str(self.path), "run-1")
        others = {task.id: task for task in other.take_over()}
        live = {task.id: task for task in self.engine.store.live()}
        assert list(others) == list(live)
        for task_id, task in live.items():
            found = others[task_id]
            assert found.to_dict() == task.to_dict()
            for name in ("sequence", "arrival", "pending", "history", "at_work", "cancel_wanted"):
                assert getattr(found, name) == getattr(task, name), name
        other.close()

    @invariant()
    def the_queue_holds_what_waits(self) -> None:
        waiting = self.engine.waiting
        assert len({task.id for task in waiting}) == len(waiting)
        assert all(task.state not in END_STATES and task.pending for task in waiting)
        assert self.engine.running not in waiting


TestAnything = Anything.TestCase
TestAnything.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
