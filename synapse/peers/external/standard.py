"""A2A 1.0 and 0.3, over JSON-RPC and REST: the calls of the official SDK, through our checked HTTP client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, cast
from urllib.parse import quote

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import Error as FormError
from google.protobuf.json_format import MessageToDict, ParseDict

from synapse.errors import SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.card import BINDINGS
from synapse.peers.external.dialect import Outgoing
from synapse.peers.external.http import Caller
from synapse.peers.task import Json

# What the SDK raises for an answer that is not as the standard says: it validates with pydantic and protobuf.
_NONSENSE = (A2AError, FormError, ValueError, TypeError, KeyError, AttributeError)


class Standard:
    """Results have the JSON form of `StreamResponse` in A2A 1.0, whatever the agent speaks."""

    def __init__(self, agent: ExternalAgent, caller: Caller, client: httpx.AsyncClient) -> None:
        self._name = agent.alias
        self._caller = caller
        self._client = client
        self._rest = agent.binding == "HTTP+JSON"
        interface = AgentInterface(
            url=agent.endpoint, protocol_binding=agent.binding, protocol_version=agent.protocol
        )
        self._card = AgentCard(
            name=agent.name,
            supported_interfaces=[interface],
            capabilities=AgentCapabilities(streaming=True),  # the caller knows whether it streams
        )

    async def send(self, outgoing: Outgoing) -> Json:
        async with (
            self._caller.patience(),
            aclosing(self._sending(outgoing, streaming=False)) as results,
        ):
            return await anext(results, {})

    def stream(self, outgoing: Outgoing) -> AsyncGenerator[Json, None]:
        return self._sending(outgoing, streaming=True)

    async def get(self, task_id: str) -> Json:
        return await self._task(self._open(False).get_task(GetTaskRequest(id=self._id(task_id))))

    async def cancel(self, task_id: str) -> Json:
        return await self._task(self._open(False).cancel_task(CancelTaskRequest(id=self._id(task_id))))

    def subscribe(self, task_id: str) -> AsyncGenerator[Json, None]:
        request = SubscribeToTaskRequest(id=self._id(task_id))
        return self._results(self._open(True).subscribe(request))

    async def _task(self, asking: Coroutine[Any, Any, Task]) -> Json:
        with self._sense():
            async with self._caller.patience():
                task = await asking
            if not task.id:  # protobuf leaves out what it does not know, the whole answer even
                raise ValueError("a task without an id")
            return {"task": MessageToDict(task)}

    def _open(self, streaming: bool) -> Client:
        config = ClientConfig(
            streaming=streaming,
            polling=not streaming,  # `send` never blocks until the task has ended
            httpx_client=self._client,
            supported_protocol_bindings=list(BINDINGS),
        )
        return ClientFactory(config).create(self._card)

    def _sending(self, outgoing: Outgoing, streaming: bool) -> AsyncGenerator[Json, None]:
        request = ParseDict({"message": _message(outgoing)}, SendMessageRequest())
        return self._results(self._open(streaming).send_message(request))

    async def _results(self, responses: AsyncIterator[StreamResponse]) -> AsyncGenerator[Json, None]:
        with self._sense():
            # The SDK's iterators are async generators, and are closed like these.
            async with aclosing(cast(AsyncGenerator[StreamResponse, None], responses)) as found:
                async for response in found:
                    yield MessageToDict(response)

    @contextmanager
    def _sense(self) -> Iterator[None]:
        try:
            yield
        except _NONSENSE as error:
            what = " ".join(str(error).split())[:200]
            raise SynapseError(f"{self._name} answered something that makes no sense: {what}.") from error

    def _id(self, task_id: str) -> str:
        """The SDK puts an id into a path as it is."""
        return quote(task_id, safe="") if self._rest else task_id


def _message(outgoing: Outgoing) -> Json:
    said: dict[str, Any] = {"messageId": outgoing.message_id, "role": "ROLE_USER"}
    said["parts"] = [_part(part) for part in outgoing.message.parts]
    more = {"contextId": outgoing.context_id, "taskId": outgoing.task_id, "metadata": outgoing.metadata}
    return said | {key: value for key, value in more.items() if value}


def _part(part: Json) -> Json:
    kind = part.get("type", "text")
    if kind not in ("text", "data"):
        raise SynapseError(f"a part of type {kind} is not sent to external agents: send text, or data.")
    return {kind: part[kind]}
