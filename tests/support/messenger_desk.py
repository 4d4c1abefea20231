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
from synapse.peers.local import LocalAgents
from synapse.peers.local_peer import LocalSource
from synapse.peers.task import A2AMessage, A2ATask
from synapse.registry import READY, AgentRegistry, Entry
from synapse.tasks.engine import TaskEngine
from synapse.tasks.store import TaskStore

ROUTING = InputRouting(enabled=True, pattern="", feedback="inline", passthrough_on_fail=True)


class Client:
    """Keeps what it was asked to send, and replies when the test says so."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []  # the agent, the text, the request id
        self.followed: list[str] = []
        self.answers: list[str] = []
        self.event: Callable[[str, dict[str, Any]], None] = lambda kind, data: None
        self.reply: asyncio.Future[A2ATask] = asyncio.get_running_loop().create_future()
        self.sending: Exception | None = None

    async def send(
        self, entry: Any, message: A2AMessage, priority: int, *, request_id: str, **_: Any
    ) -> A2ATask:
        if self.sending is not None:
            raise self.sending
        self.sent.append((str(entry["name"]), message.text, request_id))
        return A2ATask(f"task-{entry['name']}")

    async def running(self, agent_id: str) -> None:
        pass

    async def get(self, entry: Any, task_id: str) -> A2ATask:
        return A2ATask(task_id)

    async def follow(
        self, entry: Any, task: A2ATask, patience: float, on_event: Any, through_questions: bool
    ) -> A2ATask:
        assert through_questions
        self.followed.append(task.id)
        self.patience, self.event = patience, on_event
        return await asyncio.shield(self.reply)

    async def answer(self, entry: Any, task: str, text: str, sender: Any) -> None:
        self.answers.append(text)

    def replies(self, text: str, status: str = "completed", **more: Any) -> None:
        self.reply.set_result(A2ATask("t", status, artifacts=[{"data": text}], **more))


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
        agents = cast(LocalAgents, self.client)
        agents.registry = self.registry
        return [LocalSource(agents, None, me), ExternalSource(ExternalClient(external), agents)]

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
        async with asyncio.timeout(20):
            await test(Desk(path, registry))

    asyncio.run(main())


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
