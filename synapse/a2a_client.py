"""The client: to agents on this machine over their private sockets, to agents elsewhere by their cards.

`AsyncA2AClient` does the work; `A2AClient` is the same for whoever has no event loop.
"""

from __future__ import annotations

import asyncio
import os
from typing import NamedTuple

from synapse.errors import SynapseError
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.wire import EXTENSION
from synapse.peers.local import ANSWER, TAKEN, LocalAgents, Target
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent, StillWorking
from synapse.registry import AgentRegistry
from synapse.tasks.loop_guard import KEY, NOTICE, Chain

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


class Origin(NamedTuple):
    """The agent that a message comes from. `in_turn`: the agent itself sends it, out of its own turn, and
    whoever waits, it is the agent; else a human does, at its terminal."""

    id: str
    name: str
    in_turn: bool = True

    @classmethod
    def from_environment(cls) -> Origin | None:
        agent_id = os.environ.get("SYNAPSE_AGENT_ID")
        return cls(agent_id, os.environ.get("SYNAPSE_AGENT_NAME") or agent_id) if agent_id else None

    @property
    def sender(self) -> Json:
        return {"id": self.id, "name": self.name}


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
        patience = self.timeout if timeout is None else timeout
        task = await self.local.send(
            endpoint,
            A2AMessage.of(message),
            priority,
            sender=self._sender,
            metadata=await self._metadata(wait if waits is None else waits),
            context_id=context_id,
            request_id=request_id,
            timeout=max(min(patience, ANSWER), TAKEN) if wait else ANSWER,
        )
        if on_event is not None:
            on_event("queued", {"task_id": task.id, "state": task.status, "note": task.note})
        if not wait:
            return task
        return await self.local.follow(endpoint, task, patience, on_event, through_questions)

    async def follow_local(
        self,
        endpoint: Target,
        task_id: str,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        """Wait for a task that was sent before."""
        patience = self.timeout if timeout is None else timeout
        task = await self.local.get(endpoint, task_id)
        if task.ended:
            return task
        task.artifacts.clear()  # they are told again
        return await self.local.follow(endpoint, task, patience, on_event, through_questions)

    async def get_local_task(self, endpoint: Target, task_id: str) -> A2ATask:
        return await self.local.get(endpoint, task_id)

    async def answer_local(self, endpoint: Target, task_id: str, text: str) -> None:
        """Answer what a task asks. A human at an agent's terminal is no agent."""
        sender = self._sender if self.origin and self.origin.in_turn else None
        await self.local.answer(endpoint, task_id, text, sender)

    async def cancel_local_task(self, endpoint: Target, task_id: str) -> A2ATask:
        return await self.local.cancel(endpoint, task_id)

    # --- elsewhere ----------------------------------------------------------------------------------------

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
        return await self._say(alias, A2AMessage.of(message), wait, timeout, on_event, task)

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
        """Answer what a task elsewhere asks; `task` is kept up to date."""
        return await self._say(alias, A2AMessage.of(message), wait, timeout, on_event, task)

    async def follow_task(
        self,
        alias: str,
        task: A2ATask | str,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        """Wait for a task elsewhere that was sent before. An `A2ATask` is kept up to date."""
        patience = self.timeout if timeout is None else timeout
        found = A2ATask(task) if isinstance(task, str) else task
        return await self.external.follow(alias, found, patience, on_event, through_questions)

    async def _say(
        self,
        alias: str,
        message: A2AMessage,
        wait: bool,
        timeout: float | None,
        on_event: OnEvent | None,
        task: A2ATask,
    ) -> A2ATask:
        patience = self.timeout if timeout is None else timeout
        metadata: Json = {}
        if not task.id or (self.origin and self.origin.in_turn):  # a human who answers is no agent
            metadata = await self._metadata(wait)
            if self._sender:
                metadata[EXTENSION] = {"sender": self._sender}
        return await self.external.send(alias, message, wait, patience, on_event, metadata, task)

    async def get_task(self, alias: str, task_id: str) -> A2ATask:
        return await self.external.get_task(alias, task_id)

    async def cancel_task(self, alias: str, task_id: str) -> bool:
        """Whether it is canceled."""
        return (await self.external.cancel_task(alias, task_id)).status == "canceled"

    def list_agents(self) -> list[ExternalAgent]:
        return self.registry.list_agents()

    def remove_agent(self, alias: str) -> bool:
        return self.registry.remove(alias)

    # --- who sends ----------------------------------------------------------------------------------------

    @property
    def _sender(self) -> Json | None:
        return self.origin.sender if self.origin else None

    async def _metadata(self, wait: bool) -> Json:
        """The chain of agents that this message comes through, ours the last."""
        if self.origin is None:
            return {}
        chain = Chain()
        if self.origin.in_turn:
            try:
                task = await self.local.running(self.origin.id)
            except SynapseError:
                task = None  # our own host cannot be asked: it is being replaced, or we have outlived it
            chain = Chain.of(task.metadata, task.message.get("metadata")) if task else chain
        found = chain.then(self.origin.id, wait and self.origin.in_turn).to_dict()
        return {KEY: found | {NOTICE: True} if self.origin.in_turn and not wait else found}


class A2AClient:
    """The same, each call in a loop of its own. Sends in the name of the agent that it is called in."""

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
