"""The client for scripts: to agents on this machine over their private sockets, to external ones by alias.

`AsyncA2AClient` does the work; `A2AClient` is the same for code without an event loop.
"""

from __future__ import annotations

import asyncio

from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.peer import ExternalPeer
from synapse.peers.local import LocalAgents, Target
from synapse.peers.local_peer import LocalPeer
from synapse.peers.origin import Origin
from synapse.peers.task import A2AMessage, A2ATask, OnEvent, StillWorking
from synapse.registry import AgentRegistry

__all__ = [
    "A2AClient",
    "A2AMessage",
    "A2ATask",
    "AsyncA2AClient",
    "ExternalAgent",
    "ExternalAgentRegistry",
    "Origin",
    "StillWorking",
]

TIMEOUT = 300.0  # seconds to wait for a reply; after that nothing is canceled


class AsyncA2AClient:
    """`on_event(kind, data)`: queued, accepted, delivered, working, asks, partial, done, card_changed."""

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
        self.local = LocalAgents(local)
        self.external = ExternalClient(self.registry, allow_private)

    # --- this machine -------------------------------------------------------------------------------------

    async def send_to_local(
        self,
        endpoint: Target,
        message: str | A2AMessage,
        priority: int = 1,
        wait: bool = False,
        timeout: float | None = None,
        *,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
        context_id: str | None = None,
        request_id: str | None = None,
        waits: bool | None = None,
    ) -> A2ATask:
        """The task; with `wait`, when it has ended or asks something. `endpoint` may be a registry entry.

        `waits` says that somebody waits for the reply, if not this call.
        Raises StillWorking when time is up, Refused in the agent's own words, TargetError if it has ended.
        """
        return await self._at(endpoint).send(
            message,
            priority=priority,
            wait=wait,
            timeout=self._patience(timeout),
            on_event=on_event,
            through_questions=through_questions,
            request_id=request_id or "",
            context_id=context_id,
            waits=waits,
        )

    async def follow_local(
        self,
        endpoint: Target,
        task_id: str,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        """Wait for a task that was sent before."""
        return await self._at(endpoint).follow(
            task_id,
            timeout=self._patience(timeout),
            on_event=on_event,
            through_questions=through_questions,
        )

    async def get_local_task(self, endpoint: Target, task_id: str) -> A2ATask:
        return await self._at(endpoint).get(task_id)

    async def answer_local(self, endpoint: Target, task_id: str, text: str) -> None:
        """Answer what a task asks. A human at an agent's terminal is no agent."""
        await self._at(endpoint).answer(task_id, text)

    async def cancel_local_task(self, endpoint: Target, task_id: str) -> A2ATask:
        return await self._at(endpoint).cancel(task_id)

    # --- external agents ----------------------------------------------------------------------------------

    async def discover(self, url: str, alias: str | None = None, token: str | None = None) -> ExternalAgent:
        return await self.external.discover(url, alias, token)

    async def refresh(self, alias: str) -> tuple[ExternalAgent, list[str]]:
        """Read a card again; what has changed."""
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
        said, patience = A2AMessage.of(message), self._patience(timeout)
        await self.peer(alias).say(task, said, wait=wait, timeout=patience, on_event=on_event)
        return task

    async def follow_task(
        self,
        alias: str,
        task: A2ATask | str,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        """Wait for a task that was sent before. An `A2ATask` is kept up to date."""
        return await self.peer(alias).follow(
            task, timeout=self._patience(timeout), on_event=on_event, through_questions=through_questions
        )

    async def get_task(self, alias: str, task_id: str) -> A2ATask:
        return await self.external.get_task(alias, task_id)

    async def cancel_task(self, alias: str, task_id: str) -> bool:
        """Whether it is canceled."""
        return (await self.external.cancel_task(alias, task_id)).status == "canceled"

    def list_agents(self) -> list[ExternalAgent]:
        return self.registry.list_agents()

    def remove_agent(self, alias: str) -> bool:
        return self.registry.remove(alias)

    def peer(self, alias: str) -> ExternalPeer:
        return ExternalPeer(self.external, alias, self.local, self.origin)

    def _at(self, endpoint: Target) -> LocalPeer:
        return LocalPeer(self.local, endpoint, origin=self.origin)

    def _patience(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else timeout


class A2AClient:
    """The same, each call in an event loop of its own. It sends in the name of the agent that it runs in."""

    def __init__(
        self,
        registry: ExternalAgentRegistry | None = None,
        timeout: float = TIMEOUT,
        origin: Origin | None = None,
    ) -> None:
        self.core = AsyncA2AClient(origin or Origin.from_environment(), external=registry, timeout=timeout)
        self.registry = self.core.registry
        self.timeout = timeout

    def discover(self, url: str, alias: str | None = None, token: str | None = None) -> ExternalAgent:
        return asyncio.run(self.core.discover(url, alias, token))

    def send_to_local(
        self,
        endpoint: Target,
        message: str | A2AMessage,
        priority: int = 1,
        wait: bool = False,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
    ) -> A2ATask:
        return asyncio.run(
            self.core.send_to_local(endpoint, message, priority, wait, timeout, on_event=on_event)
        )

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
