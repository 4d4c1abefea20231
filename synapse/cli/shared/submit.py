"""Sends a message to an agent of this machine without waiting, in one exchange over its private socket.

The way that fits every agent loads `asyncio`, which takes four times as long as the start of Python.
"""

from __future__ import annotations

import os

from synapse.errors import TargetError
from synapse.peers import control
from synapse.peers.origin import Origin
from synapse.registry import AgentRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def sent_line(task_id: str, name: str, note: str, shows: str) -> str:
    waits = f"it waits ({note}), and " if note else ""
    return f"sent {task_id[:8]} to {name}: {waits}`{shows}` shows what becomes of it"


class Submission:
    """One message. If `attempt` does not succeed, the message can be sent with `request_id` in another way:
    it arrives once."""

    def __init__(self, target: str, message: str, priority: int, expires: float | None) -> None:
        self.request_id = os.urandom(16).hex()
        self._target = target
        self._priority = priority
        self._body: dict[str, Any] = {
            "message": {"role": "user", "parts": [{"type": "text", "text": message}]},
            "request_id": self.request_id,
        }
        if expires is not None:
            from synapse.tasks.expiry import with_expiry

            self._body["metadata"] = with_expiry({}, expires)

    def attempt(self) -> str:
        """The line that says that it was sent; empty if another way has to be tried."""
        if Origin.of_this_process() is not None:
            return ""  # an agent sends: the message also says what it is a part of
        try:
            entry = AgentRegistry().resolve(self._target)
        except TargetError:
            return ""
        if not entry.get("socket"):
            return ""
        path = f"/tasks/send-priority?priority={self._priority}"
        try:
            status, answer = control.exchange(entry, "POST", path, self._body)
        except (OSError, ValueError):
            return ""
        task = answer.get("task", answer)
        if status != 200 or not isinstance(task, dict) or not task.get("id"):
            return ""
        task_id = str(task["id"])
        return sent_line(
            task_id, str(entry["name"]), str(task.get("note") or ""), f"synapse task {task_id[:8]}"
        )
