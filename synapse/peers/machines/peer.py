"""Agents of machines that are reached by SSH, as peers.

An agent there is reached as one here is: over its private socket, which `ssh` forwards. While the machine
does not answer, a message waits; the request id makes it arrive once, and its task is followed again
afterwards.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Unpack

from synapse.errors import SynapseError, TargetError
from synapse.peers.base import Commands, Waiting
from synapse.peers.fifo import is_forbidden
from synapse.peers.local import LocalPeer
from synapse.peers.local_http import Place
from synapse.peers.machines import known, ssh
from synapse.peers.machines.known import KIND, Known, Use
from synapse.peers.machines.machine import Machine
from synapse.peers.machines.source import resolve_there
from synapse.peers.origin import Origin
from synapse.peers.remote import await_reply, key_of, sender_there
from synapse.peers.task import A2AMessage, A2ATask, Json
from synapse.registry import AgentRegistry, Entry

UNANSWERED = 300.0  # seconds that a message waits for its machine if nobody says how long


class MachinePeer(LocalPeer):
    """An agent of a machine. An entry without a port is that of one that is not known, or that has ended."""

    def __init__(
        self, machine: Machine, entry: Entry, registry: AgentRegistry, origin: Origin | None
    ) -> None:
        super().__init__(registry, entry, origin)
        self._machine = machine
        self._waiting: Waiting = {}
        self._note = ""  # what was last reported as the reason why it waits
        self._follows = False  # the agent has the message: its reply is worth any wait

    @property
    def address(self) -> str:
        place = self._id or self.name.partition("@")[0]
        return f"{KIND}:{place}@{self._machine.name}"

    async def send(
        self,
        message: str | A2AMessage,
        *,
        priority: int = 1,
        wait: bool = False,
        request_id: str = "",
        metadata: Json | None = None,
        context_id: str | None = None,
        timeout: float | None = None,
        expires: float | None = None,
        **waiting: Unpack[Waiting],
    ) -> A2ATask:
        use, self._waiting = Use(self._machine), waiting
        try:
            task = await super().send(
                message,
                priority=priority,
                wait=wait,
                request_id=request_id,
                metadata=metadata,
                context_id=context_id,
                timeout=timeout,
                expires=expires,
                **waiting,
            )
        finally:
            use.close()
        if self._origin and self._origin.in_turn and not wait:
            await_reply(self._origin, self, task.id)
        return task

    async def follow(
        self, task_id: str, *, timeout: float | None = None, **waiting: Unpack[Waiting]
    ) -> A2ATask:
        use, self._waiting, self._follows = Use(self._machine), waiting, True
        try:
            return await super().follow(task_id, timeout=timeout, **waiting)
        finally:
            use.close()

    async def wait_for(self, task: A2ATask, timeout: float | None, **waiting: Unpack[Waiting]) -> A2ATask:
        self._follows = True
        return await super().wait_for(task, timeout, **waiting)

    def commands(self, task_id: str) -> Commands:
        short = f"{task_id[:8]}@{self._machine.name}"
        return Commands(short, *(f"synapse {word} {short}" for word in ("task", "input", "cancel")))

    def patience(self, timeout: float | None, wait: bool) -> float:
        return timeout or UNANSWERED

    def _signed(self, **more: object) -> Json:
        """The agent that sends has another machine's name there."""
        signed = super()._signed(**more)
        return signed | {"sender": sender_there(self._origin, self._entry)} if self._origin else signed

    async def reached(self) -> Place:
        """Waits until the machine is connected. Raises TargetError if the agent is not there, and Failure if
        the message has not been sent and no waiting helps."""
        if is_forbidden():
            self._find(known.read(self._machine))
            return Place(agent=key_of(self._entry))  # the host of the agent in the sandbox finds it
        began, is_new = time.time(), True
        while True:
            found = known.want(self._machine, now=is_new)
            is_new = False
            if found.state == known.FAILED and found.since >= began and not self._follows:
                raise ssh.Failure(
                    f"it was not sent, because {self._machine.name} cannot be reached: {found.note}"
                )
            if found.connected:
                self._find(found)
                try:
                    if not os.path.exists(str(self._entry["socket"])):
                        await asyncio.to_thread(ssh.forward, self._machine, self._entry)
                    self._tell("")
                    return self.place
                except ssh.Failure as failure:
                    self._tell(str(failure))
            else:
                self._tell(found.note or f"{self._machine.name} is being connected.")
            await asyncio.sleep(0.2 if found.state == known.CONNECTING else 1.0)

    def _find(self, found: Known) -> None:
        """The agent's entry as it is now; the address of a message may have only its name."""
        entry = found.agent(self._id) if self._id else None
        if not self._id:
            entry = resolve_there(found, self.name.partition("@")[0])
            self._id, self.name = str(entry["agent_id"]), str(entry["name"])
        if entry is None:
            raise TargetError(f"{self.name} has ended: `synapse list` shows who is running.")
        self._entry = entry

    def check_alive(self, error: OSError) -> None:
        found = known.read(self._machine)
        if not found.connected:
            return  # `reached` waits for it
        self._find(found)
        if isinstance(error, ConnectionRefusedError):
            try:
                os.unlink(str(self._entry["socket"]))  # of an earlier connection
            except OSError:
                pass

    def _tell(self, note: str) -> None:
        on_event = self._waiting.get("on_event")
        if on_event is not None and note != self._note:
            self._note = note
            waits = "its reply comes later" if self._follows else "the message waits"
            said = f"{self._machine.name} cannot be reached, {waits}: {note}" if note else ""
            on_event("unreachable", {"note": said})

    async def last_known(self, task_id: str, error: TargetError) -> A2ATask:
        """An agent that has ended has left its tasks in their file there."""
        try:
            document = await asyncio.to_thread(ssh.run, self._machine, ["task", task_id, "--json"])
        except SynapseError:
            raise error from None
        task = A2ATask.from_dict(document if isinstance(document, dict) else {})
        if not task.ended:
            raise error
        return task
