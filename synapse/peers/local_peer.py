"""Agents that run on this machine, as peers."""

from __future__ import annotations

import os

from synapse.errors import TargetError
from synapse.peers.base import Commands, Listed, Peer
from synapse.peers.local import ANSWER, TAKEN, LocalAgents, Target
from synapse.peers.origin import Origin, chain_of
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent
from synapse.registry import INPUT_REQUIRED, PROCESSING, Entry, current_dir

_WAITS = {PROCESSING: "it is busy", INPUT_REQUIRED: "it asks something"}  # by the status of the other
KIND = "agent"


class LocalPeer:
    """`target` is its registry entry or its endpoint; without one it has ended."""

    idempotent = True

    def __init__(
        self,
        agents: LocalAgents,
        target: Target | None,
        *,
        origin: Origin | None = None,
        name: str = "",
        agent_id: str = "",
    ) -> None:
        entry = target if isinstance(target, dict) else {}
        self._agents = agents
        self._target = target
        self._origin = origin
        self._status = str(entry.get("status", ""))
        self.name = str(entry.get("name", name))
        self._id = str(entry.get("agent_id", agent_id))

    @property
    def address(self) -> str:
        return f"{KIND}:{self._id}"

    @property
    def sender(self) -> Json:
        return {"id": self._id, "name": self.name}

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
        context_id: str | None = None,
        waits: bool | None = None,
    ) -> A2ATask:
        """`waits` says that somebody waits for the reply, if not this call."""
        target = self._running()
        if metadata is None:
            waits = wait if waits is None else waits
            metadata = await chain_of(self._origin, waits, self._agents.running)
        task = await self._agents.send(
            target,
            A2AMessage.of(message),
            priority,
            sender=self._origin.sender if self._origin else None,
            metadata=metadata,
            context_id=context_id,
            request_id=request_id or None,
            timeout=max(min(timeout or ANSWER, ANSWER), TAKEN) if wait else ANSWER,
        )
        if on_event is not None:
            note = task.note or _WAITS.get(self._status, "")
            on_event("queued", {"task_id": task.id, "state": task.status, "note": note})
        if not wait:
            return task
        try:
            return await self._agents.follow(target, task, timeout, on_event, through_questions)
        except TargetError as error:
            return await _last_known(task.id, error)

    async def follow(
        self,
        task_id: str,
        *,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        try:
            target = self._running()
            task = await self._agents.get(target, task_id)
            if task.ended:
                return task
            task.artifacts.clear()  # the stream begins with them
            return await self._agents.follow(target, task, timeout, on_event, through_questions)
        except TargetError as error:
            return await _last_known(task_id, error)

    async def answer(self, task_id: str, text: str) -> None:
        """A human at an agent's terminal is no agent."""
        sender = self._origin.sender if self._origin and self._origin.in_turn else None
        await self._agents.answer(self._running(), task_id, text, sender)

    async def get(self, task_id: str) -> A2ATask:
        return await self._agents.get(self._running(), task_id)

    async def cancel(self, task_id: str) -> A2ATask:
        return await self._agents.cancel(self._running(), task_id)

    def commands(self, task_id: str) -> Commands:
        short = task_id[:8]
        return Commands(short, *(f"synapse {word} {short}" for word in ("task", "input", "cancel")))

    def _running(self) -> Target:
        if self._target is None:
            raise TargetError(f"{self.name} has ended: see `synapse logs {self.name}`.")
        return self._target


class LocalSource:
    """`me` is the registry entry of the agent that asks, if it is one: it is nobody for itself."""

    kind = KIND

    def __init__(self, agents: LocalAgents, origin: Origin | None = None, me: Entry | None = None) -> None:
        self._agents = agents
        self._registry = agents.registry
        self._origin = origin
        self._me = str(me["agent_id"]) if me else ""
        self._here = str(me["working_dir"]) if me else None

    def find(self, name: str) -> Peer:
        return self._peer(self._registry.resolve(name, self._here, but=self._me))

    def at(self, place: str, name: str) -> Peer:
        entry = self._registry.list_agents().get(place)
        return LocalPeer(self._agents, entry, origin=self._origin, name=name, agent_id=place)

    def author(self, sender: Json) -> Peer | None:
        entry = self._registry.list_agents().get(str(sender.get("id")))
        return self._peer(entry) if entry else None

    def everybody(self, here: bool) -> list[Peer]:
        me = self._me or (self._origin.id if self._origin else "")
        where = self._here or current_dir()
        others = (e for e in self._registry.list_agents().values() if e["agent_id"] != me)
        return [self._peer(entry) for entry in others if not here or entry["working_dir"] == where]

    def names(self) -> set[str]:
        found = set()
        for entry in self._registry.list_agents().values():
            if entry["agent_id"] != self._me:
                kind = str(entry["agent_type"])
                found |= {str(entry["name"]), kind, f"{kind}-{entry['port']}"}
        return found

    def listed(self) -> list[Listed]:
        return [
            Listed(str(entry["name"]), f"{entry['agent_type']}, {str(entry['status']).lower()}")
            for entry in self._registry.list_agents().values()
        ]

    def stamp(self) -> object:
        return folder_stamp(self._registry.registry_dir)

    def _peer(self, entry: Entry) -> LocalPeer:
        return LocalPeer(self._agents, entry, origin=self._origin)


async def _last_known(task_id: str, error: TargetError) -> A2ATask:
    """Of an agent that has ended: its file has what became of the task."""
    from synapse.tasks.shelf import last_known

    task = await last_known(task_id)
    if task is None or not task.ended:
        raise error
    return A2ATask.from_dict(task.to_dict())


def folder_stamp(folder: str | os.PathLike[str]) -> int:
    """When something was last added to a folder or removed from it."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
