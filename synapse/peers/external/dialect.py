"""The specifications' own endpoints (`/tasks/send`), which the standard's SDK does not speak."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

from synapse.errors import SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.http import Caller
from synapse.peers.task import A2AMessage, Json
from synapse.peers.wire import EXTENSION


class Outgoing(NamedTuple):
    """A message on its way; with `task_id`, to a task that is there."""

    message: A2AMessage
    message_id: str
    metadata: Json
    context_id: str = ""
    task_id: str = ""


class Dialect:
    """It has no streams."""

    def __init__(self, agent: ExternalAgent, caller: Caller) -> None:
        self._name = agent.alias
        self._base = agent.endpoint.rstrip("/")
        self._caller = caller

    async def send(self, outgoing: Outgoing) -> Json:
        message_id, task_id = outgoing.message_id, outgoing.task_id
        body: Json = {"id": task_id or message_id, "request_id": message_id}
        body["message"] = outgoing.message.to_dict()
        more: Json = {"sender": _sender(outgoing), "metadata": outgoing.metadata}
        more |= {"context_id": outgoing.context_id, "task_id": task_id}
        return await self._ask("POST", "/send", body | {key: value for key, value in more.items() if value})

    async def input(self, outgoing: Outgoing) -> None:
        """The answer to what a task asks."""
        sender = _sender(outgoing)
        body = {"input": outgoing.message.text, **({"sender": sender} if sender else {})}
        await self._ask("POST", f"/{quote(outgoing.task_id, safe='')}/input", body)

    async def get(self, task_id: str) -> Json:
        return await self._ask("GET", f"/{quote(task_id, safe='')}")

    async def cancel(self, task_id: str) -> Json:
        return await self._ask("POST", f"/{quote(task_id, safe='')}/cancel")

    async def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        answer: Any = await self._caller.ask(method, f"{self._base}/tasks{path}", body)
        if not isinstance(answer, dict):
            raise SynapseError(f"{self._name} answered something that is no JSON object.")
        return answer


def _sender(outgoing: Outgoing) -> Any:
    return outgoing.metadata.get(EXTENSION, {}).get("sender")
