"""The specifications' own endpoints (`/tasks/send`), which the SDK does not know. They have no streams."""

from typing import Any, NamedTuple
from urllib.parse import quote

from synapse.errors import SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.http import Caller
from synapse.peers.task import A2AMessage, Json
from synapse.tasks.expiry import EXTENSION


class Outgoing(NamedTuple):
    """A message to send; `task_id` is that of a task which exists already."""

    message: A2AMessage
    message_id: str
    metadata: Json
    context_id: str = ""
    task_id: str = ""


class Dialect:
    def __init__(self, agent: ExternalAgent, caller: Caller) -> None:
        self._name = agent.alias
        self._base = agent.endpoint.rstrip("/")
        self._caller = caller

    async def send(self, outgoing: Outgoing) -> Json:
        message, message_id, metadata, context_id, task_id = outgoing
        body = {"id": task_id or message_id, "request_id": message_id, "message": message.to_dict()}
        more = {"metadata": metadata, "context_id": context_id, "task_id": task_id, **_signed(metadata)}
        return await self._ask("POST", "/send", body | {key: value for key, value in more.items() if value})

    async def input(self, outgoing: Outgoing) -> None:
        body = {"input": outgoing.message.text, **_signed(outgoing.metadata)}
        await self._ask("POST", f"/{quote(outgoing.task_id, safe='')}/input", body)

    async def get(self, task_id: str) -> Json:
        return await self._ask("GET", f"/{quote(task_id, safe='')}")

    async def cancel(self, task_id: str) -> Json:
        return await self._ask("POST", f"/{quote(task_id, safe='')}/cancel")

    async def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        answer: Any = await self._caller.ask(method, f"{self._base}/tasks{path}", body)
        if not isinstance(answer, dict):
            raise SynapseError(
                f"{self._name} answered something that is no JSON object: is this the address of an agent?"
            )
        return answer


def _signed(metadata: Json) -> Json:
    sender = metadata.get(EXTENSION, {}).get("sender")
    return {"sender": sender} if sender else {}
