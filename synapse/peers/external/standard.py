"""A2A 1.0 and 0.3, over JSON-RPC and REST: the calls of the official SDK, through our checked HTTP client."""

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

# What the SDK (pydantic, protobuf) raises for a response that violates the standard.
_NONSENSE = (A2AError, FormError, ValueError, TypeError, KeyError, AttributeError)


class Standard:
    """Results have the JSON form of `StreamResponse` in A2A 1.0, also for an agent of A2A 0.3."""

    def __init__(self, agent: ExternalAgent, caller: Caller) -> None:
        self._name = agent.alias
        self._caller = caller
        self._rest = agent.binding == "HTTP+JSON"
        interface = AgentInterface(
            url=agent.endpoint, protocol_binding=agent.binding, protocol_version=agent.protocol
        )
        capabilities = AgentCapabilities(streaming=True)  # the caller knows whether the agent streams
        card = AgentCard(name=agent.name, supported_interfaces=[interface], capabilities=capabilities)
        self._streaming, self._polling = (
            _open(card, caller.client, streaming) for streaming in (True, False)
        )

    async def send(self, outgoing: Outgoing) -> Json:
        results = self._results(self._polling.send_message(_request(outgoing)))
        async with self._caller.patience(), aclosing(results):
            return await anext(results, {})

    def stream(self, outgoing: Outgoing) -> AsyncGenerator[Json, None]:
        return self._results(self._streaming.send_message(_request(outgoing)))

    async def get(self, task_id: str) -> Json:
        return await self._task(self._polling.get_task(GetTaskRequest(id=self._id(task_id))))

    async def cancel(self, task_id: str) -> Json:
        return await self._task(self._polling.cancel_task(CancelTaskRequest(id=self._id(task_id))))

    def subscribe(self, task_id: str) -> AsyncGenerator[Json, None]:
        return self._results(self._streaming.subscribe(SubscribeToTaskRequest(id=self._id(task_id))))

    async def _task(self, asking: Coroutine[Any, Any, Task]) -> Json:
        with self._refusing_nonsense():
            async with self._caller.patience():
                task = await asking
            if not task.id:  # protobuf ignores unknown fields, even if that is all of the response
                raise ValueError("a task without an id")
            return {"task": MessageToDict(task)}

    async def _results(self, responses: AsyncIterator[StreamResponse]) -> AsyncGenerator[Json, None]:
        with self._refusing_nonsense():
            # The SDK's iterators are async generators, which have to be closed.
            async with aclosing(cast(AsyncGenerator[StreamResponse, None], responses)) as found:
                async for response in found:
                    yield MessageToDict(response)

    @contextmanager
    def _refusing_nonsense(self) -> Iterator[None]:
        try:
            yield
        except _NONSENSE as error:
            what = " ".join(str(error).split())[:200]
            raise SynapseError(f"{self._name} answered something that makes no sense: {what}.") from error

    def _id(self, task_id: str) -> str:
        """The SDK does not quote an id that it puts into a path."""
        return quote(task_id, safe="") if self._rest else task_id


def _open(card: AgentCard, client: httpx.AsyncClient, streaming: bool) -> Client:
    config = ClientConfig(
        streaming=streaming,
        polling=not streaming,  # `send` never blocks until the task has ended
        httpx_client=client,
        supported_protocol_bindings=list(BINDINGS),
    )
    return ClientFactory(config).create(card)


def _request(outgoing: Outgoing) -> SendMessageRequest:
    message: Json = {"messageId": outgoing.message_id, "role": "ROLE_USER"}
    message["parts"] = [_part(part) for part in outgoing.message.parts]
    more = {"contextId": outgoing.context_id, "taskId": outgoing.task_id, "metadata": outgoing.metadata}
    message |= {key: value for key, value in more.items() if value}
    return ParseDict({"message": message}, SendMessageRequest())


def _part(part: Json) -> Json:
    kind = part.get("type", "text")
    if kind not in ("text", "data"):
        raise SynapseError(f"a part of type {kind} is not sent to external agents: send text, or data.")
    return {kind: part[kind]}
