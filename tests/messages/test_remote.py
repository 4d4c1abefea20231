"""A message to an agent elsewhere, from the typed line to the inbox, over hosts that die: real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse.a2a_client import AsyncA2AClient, ExternalAgentRegistry, Origin
from synapse.messages.inbox import Answer, Entry
from synapse.peers.base import Source
from synapse.peers.external import talk as external_talk
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.peer import ExternalSource
from synapse.peers.local import LocalSource
from synapse.registry import READY, AgentRegistry
from synapse.registry import Entry as RegistryEntry
from tests.support.a2a_server import Served, served
from tests.support.fake_agent import Answering, FakeAgent, fake_agent, never, says
from tests.support.messenger_desk import Desk
from tests.support.patience import PATIENCE

WORKING, ASKS = "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"


class FarDesk(Desk):
    """A messenger with the real client; `dies` ends it as a killed host would."""

    client: AsyncA2AClient

    def __init__(self, path: Path, registry: AgentRegistry | None = None) -> None:
        if registry is None:
            registry = AgentRegistry(path / "registry")
            registry.register("id-a", "dummy", 8200, READY, name="a", working_dir="/here")
        external = ExternalAgentRegistry(path / "external")
        super().__init__(
            path, registry, AsyncA2AClient(Origin("id-a", "a", in_turn=False), external=external)
        )

    def sources(self, external: ExternalAgentRegistry, me: RegistryEntry) -> list[Source]:
        local, origin = self.registry, self.client.origin
        return [LocalSource(local, origin, me), ExternalSource(ExternalClient(external), local, origin)]

    def dies(self) -> FarDesk:
        for task in self.messenger._under_way:
            task.cancel()
        return self.again()

    def again(self) -> FarDesk:
        return FarDesk(self.path, self.registry)

    @property
    def entry(self) -> Entry:
        return self.inbox.entries[0]

    async def until(self, state: str) -> Entry:
        async with asyncio.timeout(PATIENCE):
            while self.entry.state != state:
                await asyncio.sleep(0.01)
        return self.entry

    def stored(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / "sent" / "run-1.json").read_text())
        return found

    def answers(self, text: str) -> None:
        self.messenger.inbox_action(Answer("run-1", text))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_talk, "POLL", 0.01)
    monkeypatch.setattr(external_talk, "LONGEST_POLL", 0.02)


@pytest.fixture
def fake() -> Iterator[FakeAgent]:
    with fake_agent() as agent:
        agent.card()
        yield agent


def with_agent(path: Path, test: Callable[[FarDesk, Served], Awaitable[None]]) -> None:
    async def main() -> None:
        async with served() as server, asyncio.timeout(PATIENCE):
            desk = FarDesk(path)
            await desk.client.discover(server.url, "far")
            await test(desk, server)

    asyncio.run(main())


def with_fake(path: Path, fake: FakeAgent, test: Callable[[FarDesk], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(PATIENCE):
            desk = FarDesk(path)
            await desk.client.discover(fake.url, "far")
            await test(desk)

    asyncio.run(main())


def methods(fake: FakeAgent) -> list[str]:
    return [request.body["method"] for request in fake.calls("/rpc")]


# --- questions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [True, False])
def test_a_question_is_answered_from_here(tmp_path: Path, streaming: bool) -> None:
    async def test(desk: FarDesk, server: Served) -> None:
        desk.client.registry.update("far", capabilities={"streaming": streaming})
        desk.type("far", "ask sure?")
        entry = await desk.until("asks")
        assert entry.prompt == "sure?\n1. y\n2. n" and not entry.may_be_empty
        desk.answers("2")
        assert (await desk.until("replied")).reply == "n"
        assert server.courier.answered_by == [None]
        desk.answers("y")  # too late
        assert desk.entry.state == "replied" and desk.stored()["ended"]

    with_agent(tmp_path, test)


def test_a_question_that_is_answered_there_and_a_host_that_dies_while_it_is_open(tmp_path: Path) -> None:
    async def test(desk: FarDesk, server: Served) -> None:
        desk.type("far", "ask sure?")
        await desk.until("asks")
        second = desk.dies()
        assert (await second.until("asks")).prompt == "sure?\n1. y\n2. n"
        await server.engine.answer(desk.stored()["task"], "y")
        assert (await second.until("replied")).reply == "y"
        assert len(server.engine.store.list_tasks()) == 1

    with_agent(tmp_path, test)


def test_an_agent_that_is_away_keeps_its_question_and_the_answer_is_not_lost(
    tmp_path: Path, fake: FakeAgent
) -> None:
    away = False
    answered: list[Any] = []

    async def answer(request: Answering) -> None:
        if away:
            raise ConnectionError("away")
        if (message := request.body["params"].get("message")) and "taskId" in message:
            answered.append(message)
            await request.result(says("thank you"))
        else:
            await request.result(says("", ASKS) if message else says("", ASKS)["task"])

    fake.on["/rpc"] = answer

    async def test(desk: FarDesk) -> None:
        nonlocal away
        desk.type("far", "hello")
        assert (await desk.until("asks")).may_be_empty
        away = True
        desk.answers("Ada")
        async with asyncio.timeout(PATIENCE):
            while not desk.entry.draft:
                await asyncio.sleep(0.01)
        assert desk.entry.draft == "Ada" and "far" in desk.entry.detail and desk.entry.state == "asks"
        before = len(fake.seen)
        async with asyncio.timeout(PATIENCE):
            while len(fake.seen) < before + 2 * external_talk.RETURNS:  # asked after, in vain
                await asyncio.sleep(0.01)
        assert desk.entry.state == "asks" and answered == []
        away = False
        desk.answers("")
        assert (await desk.until("replied")).reply == "thank you"
        (message,) = answered
        assert (message["taskId"], message["contextId"]) == ("t1", "c") and message["parts"] == [{"text": ""}]
        assert "metadata" not in message

    with_fake(tmp_path, fake, test)


def test_a_task_that_ends_while_it_is_answered(tmp_path: Path, fake: FakeAgent) -> None:
    over = False

    async def answer(request: Answering) -> None:
        nonlocal over
        message = request.body["params"].get("message")
        if message and "taskId" in message:
            over = True
            error = {"code": -32004, "message": "task t1 is canceled"}
            await request.json({"jsonrpc": "2.0", "id": 1, "error": error})
        else:
            found = says("", "TASK_STATE_CANCELED" if over else ASKS)
            await request.result(found if message else found["task"])

    fake.on["/rpc"] = answer

    async def test(desk: FarDesk) -> None:
        desk.type("far", "hello")
        await desk.until("asks")
        desk.inbox.focus(True)
        desk.answers("yes")
        entry = await desk.until("failed")
        assert entry.outcome == "canceled" and "far refused: task t1 is canceled" in desk.inbox._note

    with_fake(tmp_path, fake, test)


# --- hosts that die -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [True, False])
def test_the_next_host_brings_the_reply(tmp_path: Path, streaming: bool) -> None:
    async def test(desk: FarDesk, server: Served) -> None:
        desk.client.registry.update("far", capabilities={"streaming": streaming})
        desk.type("far", "pause 0.4 first half and the rest")
        await desk.until("working")
        (task,) = server.engine.store.list_tasks()
        assert desk.stored()["task"] == task.id and desk.stored()["context"] == task.context_id
        second = desk.dies()
        assert (await second.until("replied")).reply == "first half and the rest"
        assert len(server.engine.store.list_tasks()) == 1, "sent once"
        assert second.dies().shown() == [("far", "replied")]

    with_agent(tmp_path, test)


def test_a_reply_that_came_while_there_was_no_host(tmp_path: Path) -> None:
    async def test(desk: FarDesk, server: Served) -> None:
        desk.type("far", "silent 0.1 while nobody looked")
        await desk.until("working")
        for task in desk.messenger._under_way:
            task.cancel()
        await server.engine.wait(desk.stored()["task"], timeout=PATIENCE)
        assert (await desk.again().until("replied")).reply == "while nobody looked"

    with_agent(tmp_path, test)


def test_what_may_have_arrived_is_not_sent_again_and_what_was_not_sent_is(
    tmp_path: Path, fake: FakeAgent
) -> None:
    fake.on["/rpc"] = never

    async def test(desk: FarDesk) -> None:
        desk.type("far", "hello")
        second = desk.dies()  # before it had begun
        async with asyncio.timeout(PATIENCE):
            while not fake.calls("/rpc"):
                await asyncio.sleep(0.01)
        third = second.dies()  # before there was an answer
        assert "it may have arrived" in (await third.until("failed")).detail
        assert methods(fake) == ["SendStreamingMessage"]

    with_fake(tmp_path, fake, test)


def test_a_full_disk_and_no_one_who_waits(tmp_path: Path, fake: FakeAgent) -> None:
    async def accept(request: Answering) -> None:
        await request.result(says("", WORKING))

    fake.on["/rpc"] = accept

    async def test(desk: FarDesk) -> None:
        desk.type("far", "hello", wait=False)
        await desk.until("delivered")
        assert desk.stored()["task"] == "t1" and methods(fake) == ["SendMessage"]

        desk.type("far", "hello again", 2)
        desk.pending.save = full  # type: ignore[method-assign]
        async with asyncio.timeout(PATIENCE):
            while desk.inbox.entries[1].state != "failed":
                await asyncio.sleep(0.01)
        assert "it was not" in desk.inbox.entries[1].detail and len(methods(fake)) == 1

    def full(message: Any) -> None:
        raise OSError(28, "No space left on device")

    with_fake(tmp_path, fake, test)


def test_an_agent_that_knows_nothing_of_it_any_more(tmp_path: Path, fake: FakeAgent) -> None:
    async def answer(request: Answering) -> None:
        if "message" in request.body["params"]:
            await request.begin()
            await request.event(says("", WORKING))
            await never(request)
        else:
            error = {"code": -32001, "message": "no such task"}
            await request.json({"jsonrpc": "2.0", "id": 1, "error": error})

    fake.on["/rpc"] = answer

    async def test(desk: FarDesk) -> None:
        desk.type("far", "hello")
        await desk.until("working")
        entry = await desk.dies().until("failed")
        assert "no such task" in entry.detail and "`synapse external task far t1`" in entry.detail
        assert methods(fake) == ["SendStreamingMessage", "GetTask"]
        desk.type("far", "--timeout", 2, timeout=0.2)
        async with asyncio.timeout(PATIENCE):
            while not desk.inbox.entries[1].late:
                await asyncio.sleep(0.01)
        assert "`synapse external task far t1` shows it too" in desk.inbox.entries[1].late

    with_fake(tmp_path, fake, test)
