"""The standard as the SDK's own client sees it; tests/real/test_clients.py has those of others."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

from tests.support.a2a_server import Served, served
from tests.support.home import Home
from tests.support.patience import PATIENCE
from tests.support.running import start

BINDINGS = ("JSONRPC", "HTTP+JSON")


def message(text: str, **more: Any) -> pb.SendMessageRequest:
    part = pb.Part(text=text)
    made = pb.Message(message_id=str(uuid.uuid4()), role=pb.Role.ROLE_USER, parts=[part], **more)
    return pb.SendMessageRequest(message=made)


def run(test: Callable[[Served, Client], Any], binding: str, streaming: bool = False) -> None:
    async def inside() -> None:
        async with (
            served() as server,
            httpx.AsyncClient(trust_env=False, verify=False, timeout=PATIENCE) as http,
        ):
            card = await A2ACardResolver(http, server.url).get_agent_card()
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                supported_protocol_bindings=[binding],
                use_client_preference=True,
            )
            await asyncio.wait_for(test(server, ClientFactory(config).create(card)), 30)

    asyncio.run(inside())


async def send(client: Client, text: str, **more: Any) -> pb.Task:
    (response,) = [response async for response in client.send_message(message(text, **more))]
    return response.task


@pytest.mark.parametrize("binding", BINDINGS)
def test_send_answer_list_and_cancel(binding: str) -> None:
    async def test(server: Served, client: Client) -> None:
        said = await send(client, "say hello")
        assert said.artifacts[0].parts[0].text == "hello"
        asking = await send(client, "ask sure?")
        assert asking.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
        answered = await send(client, "y", task_id=asking.id)
        assert answered.status.state == pb.TaskState.TASK_STATE_COMPLETED
        listed = await client.list_tasks(pb.ListTasksRequest(page_size=1))
        assert listed.total_size == 2 and listed.next_page_token
        parked = await send(client, "park ?")
        gone = await client.cancel_task(pb.CancelTaskRequest(id=parked.id))
        assert gone.status.state == pb.TaskState.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=parked.id))
        with pytest.raises(TaskNotFoundError):
            await client.get_task(pb.GetTaskRequest(id="nothing"))
        with pytest.raises(UnsupportedOperationError):
            await send(client, "more", task_id=said.id)

    run(test, binding)


@pytest.mark.parametrize("binding", BINDINGS)
def test_stream_and_subscribe(binding: str) -> None:
    async def test(server: Served, client: Client) -> None:
        found = [response async for response in client.send_message(message("stream a|b"))]
        assert found[0].HasField("task")
        texts = [r.artifact_update.artifact.parts[0].text for r in found if r.HasField("artifact_update")]
        assert texts == ["a", "b", "ab"]
        assert found[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
        asking = [response async for response in client.send_message(message("ask sure?"))]
        task_id = asking[0].task.id
        subscribed = client.subscribe(pb.SubscribeToTaskRequest(id=task_id))
        assert (await anext(subscribed)).task.id == task_id
        await server.engine.answer(task_id, "y")
        rest = [response async for response in subscribed]
        assert rest[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED

    run(test, binding, streaming=True)


PART = {"1.0": {"text": "say hello"}, "0.3": {"kind": "text", "text": "say hello"}}
CALLS = {  # path, and the body around a message
    "1.0 JSON-RPC": ("/", "SendMessage"),
    "1.0 HTTP+JSON": ("/a2a/message:send", ""),
    "0.3 JSON-RPC": ("/", "message/send"),
    "0.3 HTTP+JSON": ("/a2a/v1/message:send", ""),
    "0.3 JSON-RPC stream": ("/", "message/stream"),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_first_request_to_a_new_host_is_served(home: Home, call: str) -> None:
    """The host loads what it serves at the first request for it, which no test in one process can show."""
    version = call[:3]
    path, method = CALLS[call]
    role = "ROLE_USER" if version == "1.0" or not method else "user"
    parts = [PART["1.0" if not method else version]]
    made: dict[str, Any] = {"messageId": str(uuid.uuid4()), "role": role}
    made["content" if version == "0.3" and not method else "parts"] = parts
    body: dict[str, Any] = {"message": made, "configuration": {"blocking": True}}
    if version == "1.0":
        del body["configuration"]
    if method:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": body}
    with start(home, "--tui") as agent:
        answer = agent.http.post(path, json=body, headers={"A2A-Version": version})
    assert answer.status_code == 200 and "error" not in answer.text, answer.text
    assert "hello" in answer.text and "completed" in answer.text.lower(), answer.text
