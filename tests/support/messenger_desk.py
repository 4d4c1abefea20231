"""A messenger with a client that does what the test says, or with a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

from synapse.agent_terminal import AgentTerminal
from synapse.config import AgentSettings, InputRouting
from synapse.launch.starter import Starter
from synapse.messages.inbox import Inbox
from synapse.messages.messenger import Messenger
from synapse.messages.pending import PendingMessages
from synapse.peers.base import Source
from synapse.peers.directory import Directory
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.peer import ExternalSource
from synapse.peers.local import LocalPeer, LocalSource
from synapse.peers.task import A2ATask, Json
from synapse.registry import READY, AgentRegistry, Entry
from synapse.tasks.engine import TaskEngine
from synapse.tasks.store import TaskStore
from tests.support.patience import PATIENCE

ROUTING = InputRouting(enabled=True, pattern="", feedback="inline", passthrough_on_fail=True)


class Client:
    """Keeps what it was asked to send, and replies when the test says so."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []  # the agent, the text, the request id
        self.metadata: list[Json] = []
        self.followed: list[str] = []
        self.answers: list[str] = []
        self.patience: float | None = None
        self.event: Callable[[str, dict[str, Any]], None] = lambda kind, data: None
        self.reply: asyncio.Future[A2ATask] = asyncio.get_running_loop().create_future()
        self.sending: Exception | None = None

    def replies(self, text: str, status: str = "completed", **more: Any) -> None:
        self.reply.set_result(A2ATask("t", status, artifacts=[{"data": text}], **more))


class DeskPeer(LocalPeer):
    """A peer whose requests go to the test's client."""

    client: Client

    async def submit(self, body: Json, priority: int, timeout: float) -> A2ATask:
        assert self.place, "raises if it has ended"
        if self.client.sending is not None:
            raise self.client.sending
        text = body["message"]["parts"][0]["text"]
        self.client.sent.append((self.name, text, body["request_id"]))
        self.client.metadata.append(body.get("metadata", {}))
        return A2ATask(f"task-{self.name}")

    async def get(self, task_id: str) -> A2ATask:
        assert self.place, "raises if it has ended"
        return A2ATask(task_id)

    async def wait_for(self, task: A2ATask, timeout: float | None, **waiting: Any) -> A2ATask:
        assert waiting["through_questions"]
        self.client.followed.append(task.id)
        self.client.patience, self.client.event = timeout, waiting["on_event"]
        return await asyncio.shield(self.client.reply)

    async def answer(self, task_id: str, text: str, question: str = "") -> None:
        self.client.answers.append(text)


class DeskSource(LocalSource):
    client: Client

    def peer(self, entry: Entry) -> LocalPeer:
        found = DeskPeer(self._registry, entry)
        found.client = self.client
        return found


class Controller:
    def take_commands(self, names: Any, routing: Any, on_command: Any, on_refusal: Any) -> None:
        self.names, self.command, self.refuse = names, on_command, on_refusal


class Desk:
    """One host's messenger; `again` is the one after it."""

    client: Any

    def __init__(self, path: Path, registry: AgentRegistry, client: Any = None) -> None:
        self.path, self.registry = path, registry
        self.client = client or Client()
        self.controller = Controller()
        self.inbox = Inbox()
        self.engine = TaskEngine(TaskStore())
        self.pending = PendingMessages(str(path / "sent"), "run")
        self.started: list[str] = []
        self.later: list[Callable[[], None]] = []
        me = registry.list_agents()["id-a"]
        agents = {"gemini": AgentSettings(port=None, auto_start=True, profile="gemini")}
        self.starter = Starter(agents, "/here", 0o022)
        sources = self.sources(ExternalAgentRegistry(path / "external"), me)
        self.messenger = Messenger(
            controller=cast(AgentTerminal, self.controller),
            directory=Directory(sources, self.starter.names, "a"),
            pending=self.pending,
            engine=self.engine,
            inbox=self.inbox,
            changed=lambda: None,
            starter=self.starter,
            routing=ROUTING,
            later=lambda seconds, call: self.later.append(call),
        )
        self.messenger.open()

    def sources(self, external: ExternalAgentRegistry, me: Entry) -> list[Source]:
        local = DeskSource(self.registry, None, me)
        local.client = self.client
        return [local, ExternalSource(ExternalClient(external), self.registry)]

    def again(self) -> Desk:
        return Desk(self.path, self.registry)

    def type(self, name: str, message: str, number: int = 1, **more: Any) -> list[str | None]:
        answers: list[str | None] = []
        command: Mapping[str, Any] = {
            "id": f"run-{number}",
            "name": name,
            "message": message,
            "line": f"@{name} {message}",
            "wait": True,
            "priority": None,
            "timeout": None,
            **more,
        }
        self.controller.command(command, answers.append)
        return answers

    def shown(self) -> list[tuple[str, str]]:
        return [(entry.target, entry.state) for entry in self.inbox.entries]


def with_desk(path: Path, test: Callable[[Desk], Awaitable[None]]) -> None:
    registry = AgentRegistry(path / "registry")
    for name in "ab":
        registry.register(f"id-{name}", "dummy", 8200, READY, name=name, working_dir="/here")

    async def main() -> None:
        async with asyncio.timeout(PATIENCE):
            await test(Desk(path, registry))

    asyncio.run(main())


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
