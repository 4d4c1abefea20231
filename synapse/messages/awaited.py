"""Replies from other machines to messages that this agent has sent without waiting.

An agent of this machine sends such a notice itself; one of another machine does not know the way back. So the
command that sends the message writes a file (`peers/remote.py`), and this agent's host follows the task. The
file is removed when the notice is in the agent's queue: a new host continues.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from synapse.base import files
from synapse.errors import SynapseError
from synapse.messages.notices import PRIORITY, notice_text
from synapse.messages.pending import FOREVER
from synapse.peers.directory import Directory
from synapse.tasks.engine import TaskEngine
from synapse.tasks.loop_guard import KEY, Chain
from synapse.tasks.task import TaskError, text_message

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds


@dataclass(eq=False, repr=False)
class AwaitedReplies:
    """`relay` is the process id of this start of the agent: what an earlier one waited for is dropped."""

    folder: str
    relay: int
    engine: TaskEngine
    directory: Directory
    later: Callable[[float, Callable[[], None]], object]

    def __post_init__(self) -> None:
        self._seen = -1
        self._following: dict[str, asyncio.Task[None]] = {}

    def open(self) -> None:
        self.later(LOOK_EVERY, self.open)
        if (stamp := files.changed_ns(self.folder)) == self._seen:
            return
        self._seen = stamp
        with suppress(OSError):
            for name in os.listdir(self.folder):
                if name.endswith(".json") and name not in self._following:
                    self._following[name] = asyncio.ensure_future(self._follow(name))

    async def close(self) -> None:
        for following in self._following.values():
            following.cancel()

    async def _follow(self, name: str) -> None:
        path = os.path.join(self.folder, name)
        document = files.read_object(path)
        try:
            if document.get("relay") == self.relay:
                await self._bring(str(document["address"]), str(document["name"]), str(document["task"]))
        except (SynapseError, TaskError, KeyError) as error:
            logger.warning("the reply of %s is lost: %s", document.get("name"), error)
        with suppress(OSError):
            os.unlink(path)
        self._following.pop(name, None)

    async def _bring(self, address: str, name: str, task_id: str) -> None:
        peer = self.directory.at(address, name)
        task = await peer.follow(task_id, timeout=FOREVER, through_questions=True)
        why = str((task.error or {}).get("message") or task.note)
        chain = Chain().then(str(peer.sender.get("id") or name), waits=False)
        self.engine.submit(
            text_message(notice_text(task_id[:8], task.status, task.text, why)),
            sender=peer.sender,
            priority=PRIORITY,
            metadata={KEY: chain.to_dict()},
            request_id=f"reply/{task_id}",
        )
