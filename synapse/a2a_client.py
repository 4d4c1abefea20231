"""The client for scripts: to agents on this machine over their private sockets, to external ones by alias.

`AsyncA2AClient` calls the peers; `A2AClient` is the same for code without an event loop.
"""

import asyncio
from typing import Unpack

from synapse.peers.base import Waiting
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.credentials import Credentials
from synapse.peers.external.peer import ExternalPeer
from synapse.peers.local import LocalPeer, entry_at
from synapse.peers.origin import Origin
from synapse.peers.task import A2AMessage, A2ATask, OnEvent, StillWorking
from synapse.registry import AgentRegistry, Entry

__all__ = [
    "A2AClient", "A2AMessage", "A2ATask", "AsyncA2AClient", "Credentials", "ExternalAgent",
    "ExternalAgentRegistry", "Origin", "StillWorking",
]  # fmt: skip

TIMEOUT = 300.0  # seconds to wait for a reply; after that nothing is canceled

Target = str | Entry  # an endpoint such as http://localhost:8100, or a registry entry


class AsyncA2AClient:
    """`Waiting` describes `on_event` and `through_questions`. A wait raises StillWorking when time is up."""

    def __init__(
        self,
        origin: Origin | None = None,
        *,
        external: ExternalAgentRegistry | None = None,
        local: AgentRegistry | None = None,
        timeout: float = TIMEOUT,
        allow_private: bool = True,
    ) -> None:
        self.origin = origin
        self.timeout = timeout
        self.registry = external or ExternalAgentRegistry()
        self.local = local or AgentRegistry()
        self.external = ExternalClient(self.registry, allow_private)

    async def send_to_local(
        self,
        endpoint: Target,
        message: str | A2AMessage,
        priority: int = 1,
        wait: bool = False,
        timeout: float | None = None,
        *,
        context_id: str | None = None,
        request_id: str | None = None,
        **waiting: Unpack[Waiting],
    ) -> A2ATask:
        """The task; with `wait`, when it has ended or asks something.

        Raises Refused with the agent's own sentence, TargetError if the agent has ended.
        """
        return await self._at(endpoint).send(
            message,
            priority=priority,
            wait=wait,
            request_id=request_id or "",
            context_id=context_id,
            timeout=self._patience(timeout),
            **waiting,
        )

    async def follow_local(
        self, endpoint: Target, task_id: str, timeout: float | None = None, **waiting: Unpack[Waiting]
    ) -> A2ATask:
        return await self._at(endpoint).follow(task_id, timeout=self._patience(timeout), **waiting)

    async def get_local_task(self, endpoint: Target, task_id: str) -> A2ATask:
        return await self._at(endpoint).get(task_id)

    async def answer_local(self, endpoint: Target, task_id: str, text: str) -> None:
        await self._at(endpoint).answer(task_id, text)

    async def cancel_local_task(self, endpoint: Target, task_id: str) -> A2ATask:
        return await self._at(endpoint).cancel(task_id)

    async def discover(
        self,
        url: str,
        alias: str | None = None,
        token: str | None = None,
        credentials: Credentials | None = None,
    ) -> ExternalAgent:
        return await self.external.discover(url, alias, token, credentials)

    async def refresh(self, alias: str) -> tuple[ExternalAgent, list[str]]:
        """Read a card again. Returns the agent, and which parts of the card have changed."""
        return await self.external.refresh(alias)

    async def send_message(
        self,
        alias: str,
        message: str | A2AMessage,
        wait: bool = False,
        timeout: float | None = None,
        *,
        on_event: OnEvent | None = None,
        context_id: str = "",
        task_id: str = "",
    ) -> A2ATask:
        """With `task_id`, the message is the answer to what that task asks."""
        task = A2ATask(task_id, context_id=context_id)
        return await self.answer_task(alias, task, message, wait, timeout, on_event=on_event)

    async def answer_task(
        self,
        alias: str,
        task: A2ATask,
        message: str | A2AMessage,
        wait: bool = False,
        timeout: float | None = None,
        *,
        on_event: OnEvent | None = None,
    ) -> A2ATask:
        """Answer what a task asks; `task` is kept up to date."""
        patience = self._patience(timeout)
        await self.peer(alias).say(task, message, wait, timeout=patience, on_event=on_event)
        return task

    async def follow_task(
        self, alias: str, task: A2ATask | str, timeout: float | None = None, **waiting: Unpack[Waiting]
    ) -> A2ATask:
        """Wait for a task that was sent before. An `A2ATask` is kept up to date."""
        return await self.peer(alias).follow(task, timeout=self._patience(timeout), **waiting)

    async def get_task(self, alias: str, task_id: str) -> A2ATask:
        return await self.peer(alias).get(task_id)

    async def cancel_task(self, alias: str, task_id: str) -> bool:
        return (await self.peer(alias).cancel(task_id)).status == "canceled"

    def list_agents(self) -> list[ExternalAgent]:
        return self.registry.list_agents()

    def remove_agent(self, alias: str) -> bool:
        return self.registry.remove(alias)

    def peer(self, alias: str) -> ExternalPeer:
        return ExternalPeer(self.external, alias, self.local, self.origin)

    def _at(self, endpoint: Target) -> LocalPeer:
        entry = entry_at(self.local, endpoint) if isinstance(endpoint, str) else endpoint
        return LocalPeer(self.local, entry, self.origin)

    def _patience(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else timeout


class A2AClient:
    """Each call runs in its own event loop. It sends in the name of the agent that it runs in."""

    def __init__(
        self,
        registry: ExternalAgentRegistry | None = None,
        timeout: float = TIMEOUT,
        origin: Origin | None = None,
    ) -> None:
        self.core = AsyncA2AClient(origin or Origin.of_this_process(), external=registry, timeout=timeout)
        self.registry = self.core.registry
        self.timeout = timeout

    def discover(
        self,
        url: str,
        alias: str | None = None,
        token: str | None = None,
        credentials: Credentials | None = None,
    ) -> ExternalAgent:
        return asyncio.run(self.core.discover(url, alias, token, credentials))

    def send_to_local(
        self,
        endpoint: Target,
        message: str | A2AMessage,
        priority: int = 1,
        wait: bool = False,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
    ) -> A2ATask:
        sending = self.core.send_to_local(endpoint, message, priority, wait, timeout, on_event=on_event)
        return asyncio.run(sending)

    def send_message(
        self,
        alias: str,
        message: str | A2AMessage,
        wait: bool = False,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        task_id: str = "",
    ) -> A2ATask:
        sending = self.core.send_message(alias, message, wait, timeout, on_event=on_event, task_id=task_id)
        return asyncio.run(sending)

    def get_task(self, alias: str, task_id: str) -> A2ATask:
        return asyncio.run(self.core.get_task(alias, task_id))

    def cancel_task(self, alias: str, task_id: str) -> bool:
        return asyncio.run(self.core.cancel_task(alias, task_id))

    def list_agents(self) -> list[ExternalAgent]:
        return self.core.list_agents()

    def remove_agent(self, alias: str) -> bool:
        return self.core.remove_agent(alias)
