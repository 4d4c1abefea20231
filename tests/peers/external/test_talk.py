"""Tasks of agents elsewhere: what they ask is answered, and who comes later takes them up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse.a2a_client import A2ATask, AsyncA2AClient, ExternalAgentRegistry, Origin
from synapse.errors import Refused, SynapseError
from synapse.peers.external import talk as external_talk
from synapse.peers.external.http import NotThere, Unreachable
from tests.support.a2a_server import served
from tests.support.fake_agent import CARD, OLD_CARD, PROTOCOLS, Answering, FakeAgent, says
from tests.support.patience import PATIENCE

ME = Origin("me-id", "claude", in_turn=False)  # a human at an agent's terminal
WORKING, ASKS = "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_talk, "POLL", 0.01)
    monkeypatch.setattr(external_talk, "LONGEST_POLL", 0.02)


def new(path: Path) -> AsyncA2AClient:
    return AsyncA2AClient(ME, external=ExternalAgentRegistry(path), timeout=PATIENCE)


@pytest.mark.parametrize(("protocol", "binding", "path"), PROTOCOLS)
@pytest.mark.parametrize("streaming", [True, False])
def test_questions_and_answers(
    tmp_path: Path, quick: None, protocol: str, binding: str, path: str, streaming: bool
) -> None:
    async def main() -> None:
        async with served() as server, asyncio.timeout(PATIENCE):
            client, told = new(tmp_path), []
            await client.discover(server.url, "far")
            client.registry.update(
                "far", protocol=protocol, binding=binding, endpoint=server.url + path,
                capabilities={"streaming": streaming},
            )  # fmt: skip

            def on_event(kind: str, data: dict[str, Any]) -> None:
                told.append((kind, data))

            task = await client.send_message("far", "ask sure?", wait=True, on_event=on_event)
            assert told[0] == ("accepted", {"task_id": task.id, "context_id": task.context_id})
            assert task.asks and task.context_id and (task.prompt or {})["options"] == ["y", "n"]
            # Somebody who comes later sees the same, and whoever answers, both have the reply.
            later = asyncio.ensure_future(client.follow_task("far", task.id, through_questions=True))
            assert (await client.follow_task("far", task.id)).prompt == task.prompt
            await client.answer_task("far", task, "y", wait=True, on_event=on_event)
            if task.asks:  # an answer that was not yet taken in
                await client.follow_task("far", task, through_questions=True)
            assert (task.status, task.text) == ("completed", "y")
            assert ((await later).status, (await later).text) == ("completed", "y")
            assert server.courier.answered_by == [None], "a human, and no agent"
            kinds = [kind for kind, _ in told]
            assert kinds.count("accepted") == kinds.count("asks") == kinds.count("done") == 1
            with pytest.raises(SynapseError, match="completed"):
                await client.answer_task("far", task, "again", wait=True)

            empty = await client.send_message("far", "ask press Enter", wait=True)
            await client.answer_task("far", empty, "", wait=True)
            await client.follow_task("far", empty, through_questions=True)
            assert (empty.status, empty.text) == ("completed", "")

    asyncio.run(main())


@pytest.mark.parametrize("has_input", [True, False])
def test_an_answer_in_the_old_dialect(tmp_path: Path, quick: None, fake: FakeAgent, has_input: bool) -> None:
    state: dict[str, Any] = {
        "id": "t",
        "status": "input_required",
        "prompt": {"type": "text", "prompt": "name?"},
    }
    given: list[Any] = []

    async def take(request: Answering) -> None:
        given.append(request.body)
        if len(given) > 1:
            state.update(status="completed", artifacts=[{"type": "text", "data": "hello Ada"}])
        found = {"status": "input_provided"} if request.path.endswith("/input") else {"task": state}
        await request.json(found)

    async def get(request: Answering) -> None:
        await request.json(state)

    del fake.on[CARD]
    fake.card({"name": "Old", "url": fake.url, "version": "1"}, OLD_CARD)
    fake.on |= {"/tasks/send": take, "/tasks/t": get}
    if has_input:
        fake.on["/tasks/t/input"] = take

    async def main() -> None:
        client = new(tmp_path)
        await client.discover(fake.url, "far")
        task = await client.send_message("far", "who am I?", wait=True)
        assert task.asks and task.prompt == state["prompt"]
        await client.answer_task("far", task, "Ada", wait=True)
        assert (task.status, task.text) == ("completed", "hello Ada") and len(given) == 2
        if has_input:
            assert given[1] == {"input": "Ada"}
        else:
            assert given[1]["id"] == given[1]["task_id"] == "t"
            with pytest.raises(Refused, match="does not ask any more: nothing was sent"):
                await client.answer_task("far", task, "Ada")
        with pytest.raises(NotThere):
            await client.answer_task("far", A2ATask("unknown"), "Ada")
        assert len(given) == 2

    asyncio.run(main())


def test_what_somebody_who_comes_later_has_missed(tmp_path: Path, fake: FakeAgent) -> None:
    """A stream that goes on where it is, without the task as a whole."""
    methods: list[str] = []

    async def answer(request: Answering) -> None:
        methods.append(request.body["method"])
        if methods[-1] == "GetTask":
            texts = {1: ("one ", WORKING), 3: ("one two three", "TASK_STATE_COMPLETED")}[len(methods)]
            await request.result(says(*texts)["task"])
            return
        await request.begin()
        piece = {"artifactId": "reply", "parts": [{"text": "three"}]}
        await request.event({"artifactUpdate": {"taskId": "t1", "append": True, "artifact": piece}})
        await request.event({"statusUpdate": {"taskId": "t1", "status": {"state": "TASK_STATE_COMPLETED"}}})
        await request.end()

    fake.on["/rpc"] = answer

    async def main() -> None:
        client = new(tmp_path)
        await client.discover(fake.url, "far")
        task = await client.follow_task("far", "t1")
        assert (task.text, task.context_id) == ("one two three", "c")
        assert methods == ["GetTask", "SubscribeToTask", "GetTask"]

    asyncio.run(main())


def test_an_answer_that_may_have_arrived_is_not_sent_again(
    tmp_path: Path, quick: None, fake: FakeAgent
) -> None:
    sent: list[Any] = []

    async def answer(request: Answering) -> None:
        sent.append(request.body["params"])
        raise ConnectionError("it breaks")

    fake.on["/rpc"] = answer

    async def main() -> None:
        client = new(tmp_path)
        await client.discover(fake.url, "far")
        with pytest.raises((Unreachable, Refused)):
            await client.answer_task("far", A2ATask("t1", "input_required", context_id="c"), "yes", wait=True)
        (params,) = sent
        assert (params["message"]["taskId"], params["message"]["contextId"]) == ("t1", "c")

    asyncio.run(main())


def test_trouble_that_passes_and_trouble_that_does_not(tmp_path: Path, quick: None, fake: FakeAgent) -> None:
    answers: Iterator[Any] = iter([500, 503, WORKING, 502, ASKS, *[503] * 12, ASKS, "TASK_STATE_COMPLETED"])

    async def answer(request: Answering) -> None:
        found = next(answers)
        if isinstance(found, int):
            await request.json({"detail": "trouble"}, found)
        else:
            await request.result(says("sun", found)["task"])

    fake.card(capabilities={"streaming": False})
    fake.on["/rpc"] = answer

    async def main() -> None:
        nonlocal answers
        client = new(tmp_path)
        await client.discover(fake.url, "far")
        told: list[str] = []
        task = await client.follow_task(
            "far", "t1", on_event=lambda kind, data: told.append(kind), through_questions=True
        )
        assert task.text == "sun"
        assert [kind for kind in told if kind != "partial"] == ["delivered", "working", "asks", "done"]
        answers = iter([503] * 5)
        with pytest.raises(Refused, match="trouble"):
            await client.follow_task("far", "t1")
        answers = iter([404])
        with pytest.raises(NotThere):
            await client.follow_task("far", "t1")

    asyncio.run(main())
