"""External agents, known by an A2A URL and an alias, as peers."""

from __future__ import annotations

import shlex

from synapse.base.text import for_output
from synapse.peers.base import Commands, Listed, Peer
from synapse.peers.external.client import ExternalClient
from synapse.peers.external.talk import Talk
from synapse.peers.local import LocalAgents
from synapse.peers.local_peer import folder_stamp
from synapse.peers.origin import Origin, chain_of
from synapse.peers.prompts import chosen
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent
from synapse.peers.wire import EXTENSION

KIND = "alias"


class ExternalPeer:
    """`local` answers what the agent that sends is working on."""

    idempotent = False

    def __init__(self, client: ExternalClient, alias: str, local: LocalAgents, origin: Origin | None) -> None:
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
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
        request_id: str = "",
        metadata: Json | None = None,
    ) -> A2ATask:
        """The standard has no priority, and no way to know a message that comes twice."""
        task = A2ATask("")
        await self.say(
            task,
            A2AMessage.of(message),
            wait=wait,
            timeout=timeout,
            on_event=on_event,
            through_questions=through_questions,
            metadata=metadata,
        )
        return task

    async def say(
        self,
        task: A2ATask,
        message: A2AMessage,
        *,
        wait: bool = False,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
        metadata: Json | None = None,
    ) -> None:
        """A message that begins `task`, which is kept up to date, or the answer to what it asks."""
        if metadata is None:
            metadata = await self._metadata(wait, is_answer=bool(task.id))
        async with self._client.talk(self.name, task, timeout, on_event) as talk:
            self._followed.append(talk)
            try:
                await talk.send(message, metadata, wait)
                if wait and through_questions and not task.ended:
                    await talk.follow(through_questions)
            finally:
                self._followed.remove(talk)
        task.message = task.message or message.to_dict()
        task.delivered = True

    async def follow(
        self,
        task_id: str | A2ATask,
        *,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        task = A2ATask(task_id) if isinstance(task_id, str) else task_id
        async with self._client.talk(self.name, task, timeout, on_event) as talk:
            self._followed.append(talk)
            try:
                await talk.follow(through_questions)
            finally:
                self._followed.remove(talk)
        return task

    async def answer(self, task_id: str, text: str) -> None:
        """An option's number means the option: only we have shown the numbers."""
        talk = next((talk for talk in self._followed if talk.task.id == task_id), None)
        if talk is None:
            await self.say(A2ATask(task_id), A2AMessage.from_text(text))
        else:
            said = A2AMessage.from_text(chosen(talk.task.prompt or {}, text))
            await talk.answer(said, await self._metadata(waits=True, is_answer=True))

    async def get(self, task_id: str) -> A2ATask:
        return await self._client.get_task(self.name, task_id)

    async def cancel(self, task_id: str) -> A2ATask:
        return await self._client.cancel_task(self.name, task_id)

    def commands(self, task_id: str) -> Commands:
        """An agent may have chosen an id that a shell or a terminal would act on."""
        quoted = shlex.quote(for_output(task_id))
        return Commands(
            short=for_output(task_id),
            shows=f"synapse external task {self.name} {quoted}",
            answers=f"synapse external send {self.name} --task {quoted}",
            cancels=f"synapse external cancel {self.name} {quoted}",
        )

    async def _metadata(self, waits: bool, is_answer: bool) -> Json:
        """A human who answers is no agent."""
        if self._origin is None or (is_answer and not self._origin.in_turn):
            return {}
        metadata = await chain_of(self._origin, waits, self._local.running)
        return metadata | {EXTENSION: {"sender": self._origin.sender}}


class ExternalSource:
    kind = KIND

    def __init__(self, client: ExternalClient, local: LocalAgents, origin: Origin | None = None) -> None:
        self._client = client
        self._local = local
        self._origin = origin

    def find(self, name: str) -> Peer:
        return self.at(self._client.known(name).alias)

    def at(self, place: str, name: str = "") -> ExternalPeer:
        return ExternalPeer(self._client, place, self._local, self._origin)

    def author(self, sender: Json) -> Peer | None:
        return None

    def everybody(self, here: bool) -> list[Peer]:
        """A broadcast stays on this machine."""
        return []

    def names(self) -> set[str]:
        return {agent.alias for agent in self._client.registry.list_agents()}

    def listed(self) -> list[Listed]:
        return [Listed(agent.alias, agent.url) for agent in self._client.registry.list_agents()]

    def stamp(self) -> object:
        return folder_stamp(self._client.registry.registry_dir)
