"""Synapse from a script, with real agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import synapse
from tests.support.home import Home, new_home


@pytest.fixture(scope="module")
def agents() -> Iterator[Home]:
    with new_home() as home, home.ours():
        home.run("start", "dummy", "--name", "a")
        yield home


def test_ask_returns_the_reply(agents: Home) -> None:
    reply = synapse.ask("a", "say it works")
    assert reply == "it works" and reply.agent == "a" and reply.task.status == "completed"
    assert synapse.ask("@a", 'say {"ok": true}').data == {"ok": True}


def test_a_task_is_followed_by_object_and_by_id(agents: Home) -> None:
    task = synapse.send("a", "say later")
    assert synapse.follow(task) == "later"
    assert synapse.follow(task.id[:8], timeout=30) == "later"
    assert synapse.get_task(task).status == "completed"


def test_one_request_id_is_one_task(agents: Home) -> None:
    first = synapse.ask("a", "say once", request_id="one")
    assert synapse.ask("a", "say once", request_id="one").task.id == first.task.id


def test_a_question_is_raised_answered_and_followed(agents: Home) -> None:
    with pytest.raises(synapse.AgentAsks, match=r"a asks: .*Keep it\?") as asked:
        synapse.ask("a", "confirm Keep it?")
    assert asked.value.exit_status == 5
    synapse.answer(asked.value.task, "y")
    assert synapse.follow(asked.value.task) == "Confirmed."


def test_a_question_that_was_answered_does_not_end_the_next_wait(agents: Home) -> None:
    for _ in range(5):
        with pytest.raises(synapse.AgentAsks) as asked:
            synapse.ask("a", "confirm Keep it?")
        synapse.answer(asked.value.task, "y")
        assert synapse.follow(asked.value.task) == "Confirmed."  # its stream begins with the question


def test_a_question_is_given_to_on_question(agents: Home) -> None:
    asked = []

    def on_question(prompt: dict[str, object]) -> str:
        asked.append(prompt["type"])
        return "2"

    assert synapse.ask("a", "choose Keep|Delete", on_question=on_question) == "You chose: Delete"
    assert len(asked) == 1


def test_a_canceled_task_is_an_error_with_its_task(agents: Home) -> None:
    task = synapse.send("a", "honour 60")
    assert synapse.cancel(task).id == task.id
    with pytest.raises(
        synapse.TaskFailed, match=rf"a has not done it: canceled.*synapse task {task.id[:8]}"
    ) as failed:
        synapse.follow(task)
    assert failed.value.task.status == "canceled"


def test_time_over_cancels_nothing(agents: Home) -> None:
    with pytest.raises(synapse.StillWorking) as late:
        synapse.ask("a", "silent 1 done now", timeout=0.3)
    assert synapse.follow(late.value.task.id) == "done now"


def test_an_unknown_agent_says_who_runs(agents: Home) -> None:
    with pytest.raises(synapse.NoSuchAgent, match="no agent named 'nobody' is running"):
        synapse.ask("nobody", "hi")


def test_list_agents_has_their_entries(agents: Home) -> None:
    assert [(entry["name"], entry["agent_type"]) for entry in synapse.list_agents()] == [("a", "dummy")]


def test_the_twins_are_in_aio(agents: Home) -> None:
    async def main() -> list[str]:
        replies = await asyncio.gather(*(synapse.aio.ask("a", f"say {n}") for n in range(3)))
        with pytest.raises(synapse.SynapseError, match=r"use `await synapse\.aio\.ask"):
            synapse.ask("a", "say x")
        return [str(reply) for reply in replies]

    assert asyncio.run(main()) == ["0", "1", "2"]
