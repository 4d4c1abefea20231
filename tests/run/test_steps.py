"""The steps of a run: asked once, continued after a kill, with agents that fail, end and come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from synapse.api import aio
from synapse.errors import NoSuchAgent, OverBudget, StepFailed, SynapseError, UsageError
from synapse.peers.base import Commands
from synapse.peers.task import A2ATask
from synapse.run import steps as steps_module
from synapse.run.budget import Budget
from synapse.run.journal import ASKED, DONE, Journal
from synapse.run.questions import FAIL, Questions
from synapse.run.steps import Steps


class Peer:
    """An agent that answers what `replies` says, and counts what reaches it by request id."""

    def __init__(self, name: str, *replies: str) -> None:
        self.name = name
        self.address = f"test:{name}"
        self.idempotent = True
        self.sender: dict[str, Any] = {}
        self.asked: list[str] = []
        self.tasks: dict[str, A2ATask] = {}
        self._replies = iter(replies)

    async def send(self, message: Any, *, request_id: str = "", on_event: Any = None, **_: Any) -> A2ATask:
        if request_id not in self.tasks:
            self.asked.append(message)
            self.tasks[request_id] = self._answer(f"t{len(self.tasks) + 1}", next(self._replies))
        task = self.tasks[request_id]
        if on_event:
            on_event("queued", {"task_id": task.id})
        if task.asks:
            on_event("asks", {"task_id": task.id, "prompt": task.prompt})
            await asyncio.sleep(60)
        return task

    def _answer(self, task_id: str, reply: str) -> A2ATask:
        if reply.startswith("!"):
            return A2ATask(task_id, "failed", error={"code": "USAGE_LIMIT", "message": reply[1:]})
        if reply.startswith("?"):
            return A2ATask(task_id, "input_required", prompt={"prompt": reply[1:]})
        return A2ATask(
            task_id,
            "completed",
            artifacts=[{"parts": [{"type": "text", "text": reply}]}],
            metadata={"turn": {"usage": {"input_tokens": 5, "output_tokens": 5}}},
        )

    async def get(self, task_id: str) -> A2ATask:
        return next(task for task in self.tasks.values() if task.id == task_id)

    async def follow(self, task_id: str, **_: Any) -> A2ATask:
        return await self.get(task_id)

    def commands(self, task_id: str) -> Commands:
        return Commands(
            task_id, f"synapse task {task_id}", f"synapse input {task_id}", f"synapse cancel {task_id}"
        )


class Desk:
    """Steps over one journal, in as many processes as a test wants."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = str(folder)
        self.peers: dict[str, Peer] = {}

        async def find(name: str) -> Peer:
            if name not in self.peers:
                raise NoSuchAgent(f"no agent named {name!r} is running: start one.")
            return self.peers[name]

        def at(address: str, _: str) -> Peer:
            return self.peers[address.partition(":")[2]]

        monkeypatch.setattr(aio, "find", find)
        monkeypatch.setattr(aio, "directory", lambda: type("Directory", (), {"at": staticmethod(at)}))

    def agent(self, name: str, *replies: str) -> Peer:
        self.peers[name] = Peer(name, *replies)
        return self.peers[name]

    def run(
        self,
        script: Callable[[Steps], Coroutine[Any, Any, Any]],
        budget: Budget | None = None,
        mode: str = FAIL,
    ) -> Any:
        journal = Journal(self.folder)
        steps = Steps(
            "r1", journal, budget or Budget(), questions=Questions(mode), tell=lambda key, sentence: None
        )
        try:
            return asyncio.run(script(steps))
        finally:
            journal.close()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_an_answered_step_is_not_asked_again(desk: Desk) -> None:
    peer = desk.agent("a", "first")
    for _ in range(3):
        reply = desk.run(lambda steps: steps.ask("1", "a", "do it"))
        assert reply == "first" and reply.agent == "a" and reply.usage.tokens == 10
    assert peer.asked == ["do it"]


def test_a_reply_outlives_its_agent(desk: Desk) -> None:
    desk.agent("a", "first")
    desk.run(lambda steps: steps.ask("1", "a", "do it"))
    desk.peers.clear()
    assert desk.run(lambda steps: steps.ask("1", "a", "do it")) == "first"


def test_a_step_that_was_under_way_is_followed_by_its_request(desk: Desk) -> None:
    """Killed after the line was written: whether the message had been sent or not, it is asked once."""
    peer = desk.agent("a", "first", "never")
    desk.run(lambda steps: steps.ask("1", "a", "do it"))
    path = Path(desk.folder) / "journal.jsonl"
    asked_only = [line for line in path.read_text().splitlines(True) if ASKED in line]
    path.write_text("".join(asked_only))
    assert desk.run(lambda steps: steps.ask("1", "a", "do it")) == "first"
    assert peer.asked == ["do it"]


def test_a_failed_step_is_asked_again_as_the_next_attempt(desk: Desk) -> None:
    peer = desk.agent("a", "!no credit", "second")
    with pytest.raises(StepFailed, match=r"step 1: a has not done it: failed, no credit") as failed:
        desk.run(lambda steps: steps.ask("1", "a", "do it"))
    assert failed.value.key == "1"
    assert desk.run(lambda steps: steps.ask("1", "a", "do it")) == "second"
    assert len(peer.tasks) == 2


def test_the_same_key_with_another_prompt_shows_both(desk: Desk) -> None:
    desk.agent("a", "first")
    desk.run(lambda steps: steps.ask("1", "a", "do it"))
    with pytest.raises(
        UsageError, match="step 1 was asked with another prompt: 'do it', and is now 'do that'"
    ):
        desk.run(lambda steps: steps.ask("1", "a", "do that"))


def test_a_step_that_failed_may_be_asked_with_another_prompt(desk: Desk) -> None:
    desk.agent("a", "!too long", "short")
    with pytest.raises(StepFailed):
        desk.run(lambda steps: steps.ask("1", "a", "x" * 1000))
    assert desk.run(lambda steps: steps.ask("1", "a", "x")) == "short"


@pytest.mark.parametrize("first", [None, "!usage limit"])
def test_the_fallback_gets_what_the_first_cannot_do(desk: Desk, first: str | None) -> None:
    if first:
        desk.agent("a", first)
    other = desk.agent("b", "from b")
    reply = desk.run(lambda steps: steps.ask("1", "a", "do it", fallback="b"))
    assert reply == "from b" and reply.agent == "b" and other.asked == ["do it"]
    assert desk.run(lambda steps: steps.ask("1", "a", "do it", fallback="b")).agent == "b"


class Verdict(BaseModel):
    approved: bool


def test_one_repair_is_asked_for_and_kept(desk: Desk) -> None:
    peer = desk.agent("a", "yes!", '{"approved": true}')
    for _ in range(2):
        assert desk.run(lambda steps: steps.ask("1", "a", "ok?", schema=Verdict)).data == Verdict(
            approved=True
        )
    assert len(peer.asked) == 2
    assert peer.asked[1].startswith("Your reply does not fit: it has no JSON document\n")


def test_two_replies_that_do_not_fit_fail_with_both_and_are_asked_again(desk: Desk) -> None:
    peer = desk.agent("a", "yes!", "really, yes", '{"approved": false}')
    with pytest.raises(StepFailed, match="it said first 'yes!', and then 'really, yes'"):
        desk.run(lambda steps: steps.ask("1", "a", "ok?", schema=Verdict))
    assert desk.run(lambda steps: steps.ask("1", "a", "ok?", schema=Verdict)).data == Verdict(approved=False)
    assert len(peer.asked) == 3


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        (Budget(turns=2), "2 of 2 turns"),
        (Budget(tokens=15), "20 of 15 tokens"),
        (Budget(messages=2), "2 of 2 messages"),
    ],
)
def test_at_the_limit_the_next_step_is_refused_with_the_numbers(
    desk: Desk, budget: Budget, sentence: str
) -> None:
    peer = desk.agent("a", "1", "2", "3")

    async def script(steps: Steps) -> None:
        for number in range(1, 4):
            await steps.ask(str(number), "a", f"do {number}")

    with pytest.raises(OverBudget, match=f"step 3 is not asked: the run has used {sentence}"):
        desk.run(script, budget)
    desk.run(script)  # resumed with a higher limit
    assert peer.asked == ["do 1", "do 2", "do 3"]


def test_a_question_fails_the_step_if_the_run_is_not_to_wait(desk: Desk) -> None:
    desk.agent("a", "?May I?")
    with pytest.raises(StepFailed, match=r"step 1: a asks: May I\?"):
        desk.run(lambda steps: steps.ask("1", "a", "do it"))


def test_time_over_leaves_the_task_for_the_resumed_run(desk: Desk) -> None:
    peer = desk.agent("a", "?May I?")
    with pytest.raises(StepFailed, match=r"a has not replied within 0\.3 s"):
        desk.run(lambda steps: steps.ask("1", "a", "do it", timeout=0.3), mode="wait")
    (task,) = peer.tasks.values()
    task.status, task.artifacts = "completed", [{"parts": [{"type": "text", "text": "done"}]}]
    assert desk.run(lambda steps: steps.ask("1", "a", "do it")) == "done"


def test_an_agent_at_its_limit_is_not_asked_if_there_is_a_fallback(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = desk.agent("a", "from a"), desk.agent("b", "from b")
    monkeypatch.setattr(steps_module, "_limited_until", lambda name: "18:00" if name == "a" else "")
    assert desk.run(lambda steps: steps.ask("1", "a", "do it", fallback="b")) == "from b"
    assert first.asked == [] and other.asked == ["do it"]


def test_a_full_disk_names_the_step_and_nothing_is_asked_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = desk.agent("a", "first")
    write = Journal.write

    def full(journal: Journal, kind: str, *words: Any, **line: Any) -> None:
        if kind == DONE:
            raise SynapseError("the journal cannot be written: make room, resume.")
        write(journal, kind, *words, **line)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", full)
        with pytest.raises(StepFailed, match="step 1: the journal cannot be written"):
            desk.run(lambda steps: steps.ask("1", "a", "do it"))
    assert desk.run(lambda steps: steps.ask("1", "a", "do it")) == "first" and peer.asked == ["do it"]
