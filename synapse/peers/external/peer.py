"""External agents, known by an A2A URL and an alias, as peers."""

from __future__ import annotations

import asyncio
import functools
import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Unpack

from synapse.base.loading import load
from synapse.base.text import for_output
from synapse.peers.base import Commands, Listed, Peer, Source, Waiting
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.card import OLD
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.dialect import Dialect
from synapse.peers.external.http import Access, open_caller
from synapse.peers.external.talk import Talk
from synapse.peers.local import chain_of
from synapse.peers.origin import Origin
from synapse.peers.prompts import chosen
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent, StillWorking
from synapse.peers.wire import task_of
from synapse.registry import AgentRegistry
from synapse.tasks.expiry import EXTENSION, with_expiry
from synapse.tasks.task import QUESTION

if TYPE_CHECKING:
    from synapse.peers.external.talk import Protocol

KIND = "alias"


class ExternalPeer:
    """`local` is where the agent that sends is registered."""

    idempotent = False

    def __init__(
        self, client: ExternalClient, alias: str, local: AgentRegistry, origin: Origin | None
    ) -> None:
        self._client = client
        self._local = local
        self._origin = origin
        self._followed: list[Talk] = []
        self.name = alias

    @property
    def address(self) -> str:
        return f"{KIND}:{self.name}"

    @property
    def sender(self) -> Json:
        return {"name": self.name}

    async def send(
        self,
        message: str | A2AMessage,
        *,
        priority: int = 1,
        wait: bool = False,
        request_id: str = "",
        metadata: Json | None = None,
        timeout: float | None = None,
        expires: float | None = None,
        **waiting: Unpack[Waiting],
    ) -> A2ATask:
        """The standard has no priority and no expiry, and does not recognise a message that arrives twice.
        An agent of Synapse reads the expiry from the metadata."""
        task = A2ATask("")
        if expires is not None:
            found = await self._metadata(wait, is_answer=False) if metadata is None else metadata
            metadata = with_expiry(found, expires)
        await self.say(task, message, wait, metadata, timeout, **waiting)
        return task

    async def say(
        self,
        task: A2ATask,
        message: str | A2AMessage,
        wait: bool = False,
        metadata: Json | None = None,
        timeout: float | None = None,
        *,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> None:
        """Send a message that begins `task`, which is kept up to date, or that answers what it asks."""
        said = A2AMessage.of(message)
        if metadata is None:
            metadata = await self._metadata(wait, is_answer=bool(task.id))
        async with self._talk(task, timeout, on_event) as talk:
            await talk.send(said, metadata, wait)
            if wait and through_questions and not task.ended:
                await talk.follow(through_questions)
        task.message = task.message or said.to_dict()
        task.delivered = True

    async def follow(
        self, task_id: str | A2ATask, *, timeout: float | None = None, **waiting: Unpack[Waiting]
    ) -> A2ATask:
        task = A2ATask(task_id) if isinstance(task_id, str) else task_id
        async with self._talk(task, timeout, waiting.get("on_event")) as talk:
            await talk.follow(waiting.get("through_questions", False))
        return task

    async def answer(self, task_id: str, text: str, question: str = "") -> None:
        """The number of an option stands for the option: the agent does not know our numbers."""
        talk = next((talk for talk in self._followed if talk.task.id == task_id), None)
        if talk is None:
            await self.say(A2ATask(task_id), text)
        else:
            said = A2AMessage.from_text(chosen(talk.task.prompt or {}, text))
            named: Json = {QUESTION: question} if question else {}
            await talk.answer(said, await self._metadata(waits=True, is_answer=True) | named)

    async def get(self, task_id: str) -> A2ATask:
        async with self._protocol(self._client.known(self.name)) as protocol:
            return task_of(await protocol.get(task_id), task_id)

    async def cancel(self, task_id: str) -> A2ATask:
        async with self._protocol(self._client.known(self.name)) as protocol:
            return task_of(await protocol.cancel(task_id), task_id)

    def commands(self, task_id: str) -> Commands:
        """The agent chooses the id: a shell or a terminal might interpret it."""
        quoted = shlex.quote(for_output(task_id))
        return Commands(
            short=for_output(task_id),
            shows=f"synapse external task {self.name} {quoted}",
            answers=f"synapse external send {self.name} --task {quoted}",
            cancels=f"synapse external cancel {self.name} {quoted}",
        )

    @asynccontextmanager
    async def _talk(
        self, task: A2ATask, timeout: float | None, on_event: OnEvent | None
    ) -> AsyncGenerator[Talk, None]:
        tell = on_event or (lambda kind, data: None)
        try:
            async with asyncio.timeout(timeout):
                agent = await self._client.up_to_date(self.name, tell)
                async with self._protocol(agent) as protocol:
                    talk = Talk(agent, protocol, task, tell)
                    self._followed.append(talk)
                    try:
                        yield talk
                    finally:
                        self._followed.remove(talk)
        except TimeoutError:
            shows = self.commands(task.id).shows if task.id else ""
            raise StillWorking.after(timeout or 0, self.name, task, shows) from None

    @asynccontextmanager
    async def _protocol(self, agent: ExternalAgent) -> AsyncGenerator[Protocol, None]:
        registry = self._client.registry
        access = Access(
            registry.credentials(agent.alias),
            functools.partial(registry.keep, agent.alias),
            agent.wants,
            agent.requires,
        )
        async with open_caller(agent.alias, agent.network, access) as caller:
            if agent.protocol == OLD:
                yield Dialect(agent, caller)
            else:
                await load("synapse.peers.external.standard", without="grpc")
                from synapse.peers.external.standard import Standard

                yield Standard(agent, caller)
        registry.update_last_seen(agent.alias)

    async def _metadata(self, waits: bool, is_answer: bool) -> Json:
        """A human who answers is not the agent in whose terminal they type."""
        if self._origin is None or (is_answer and not self._origin.in_turn):
            return {}
        metadata, _ = await chain_of(self._local, self._origin, waits)
        return metadata | {EXTENSION: {"sender": self._origin.sender}}


class ExternalSource(Source):
    """A broadcast does not reach external agents."""

    kind = KIND

    def __init__(self, client: ExternalClient, local: AgentRegistry, origin: Origin | None = None) -> None:
        self._client = client
        self._local = local
        self._origin = origin

    def find(self, name: str) -> Peer:
        return self.at(self._client.known(name).alias)

    def at(self, place: str, name: str = "") -> ExternalPeer:
        return ExternalPeer(self._client, place, self._local, self._origin)

    def names(self) -> set[str]:
        return {agent.alias for agent in self._client.registry.list_agents()}

    def listed(self) -> list[Listed]:
        return [Listed(agent.alias, agent.url) for agent in self._client.registry.list_agents()]

    @property
    def folder(self) -> str:
        return self._client.registry.registry_dir
