"""Both bindings of version 1.0 answer as the SDK's own routes do, for the same handler."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from starlette.applications import Starlette

from synapse.server.push import PushSender
from synapse.server.standard.card import agent_card, card_document
from synapse.server.standard.convert import notification
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.routes import standard_routes
from synapse.tasks.engine import TaskEngine
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json
from tests.support.a2a_server import about, anywhere, message
from tests.support.scripted_courier import ScriptedCourier

URL = "http://here"
CONFIG = {"id": "c1", "url": "https://example.com/hook", "token": "secret"}
UNIQUE = re.compile(r'[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d{9,}\.\d+|(?<=PageToken":")\w+')


@asynccontextmanager
async def agent(theirs: bool) -> AsyncIterator[httpx.AsyncClient]:
    """A client of our routes, or of theirs."""
    engine = TaskEngine(TaskStore(":memory:"))
    push = PushSender(engine.store, anywhere, notification, pause=0.01)
    courier = ScriptedCourier(engine)
    handler: Any = A2AHandler(engine, push, lambda: agent_card(about(URL), token_set=True, full=True))
    if theirs:
        routes = [*create_jsonrpc_routes(handler, "/"), *create_rest_routes(handler, path_prefix="/a2a")]
    else:
        routes = standard_routes(engine, about(URL), push, handler=handler)
    transport = httpx.ASGITransport(Starlette(routes=routes))
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url=URL, headers={"A2A-Version": "1.0"}
        ) as client:
            yield client
    finally:
        await courier.close()
        await push.close()
        engine.store.close()


def compare(conversation: Callable[[httpx.AsyncClient], Awaitable[list[httpx.Response]]]) -> None:
    """Have the same conversation with both; ids and times differ, and of an error the sentence may."""

    async def answers(theirs: bool) -> list[Any]:
        async with asyncio.timeout(60):
            async with agent(theirs) as client:
                return [_answer(response) for response in await conversation(client)]

    ours, expected = asyncio.run(answers(False)), asyncio.run(answers(True))
    assert ours == expected and ours


def _answer(response: httpx.Response) -> Any:
    kind = response.headers.get("content-type", "").partition(";")[0]
    text = UNIQUE.sub("…", response.text)
    if kind == "text/event-stream":
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        return response.status_code, kind, [json.loads(line) for line in lines]
    found = json.loads(text) if "json" in kind else text
    if isinstance(found, dict) and isinstance(found.get("error"), dict):
        kept = {key: found["error"].get(key) for key in ("code", "status")}
        found = {**found, "error": kept}
    return response.status_code, kind, found


async def rpc(client: httpx.AsyncClient, method: Any, params: Any, **more: Any) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **more}
    return await client.post("/", json=body)


def test_tasks_over_json_rpc() -> None:
    async def conversation(client: httpx.AsyncClient) -> list[httpx.Response]:
        done = await rpc(client, "SendMessage", message("say hi"))
        parked = await rpc(client, "SendMessage", message("park ?"), id="two")
        task_id = parked.json()["result"]["task"]["id"]
        return [
            done,
            parked,
            await rpc(client, "SendStreamingMessage", message("stream a|b")),
            await rpc(client, "GetTask", {"id": task_id, "historyLength": 0}),
            await rpc(client, "ListTasks", {"pageSize": 2}),
            await rpc(client, "ListTasks", {"includeArtifacts": True, "unknown": 1}),
            await rpc(client, "CreateTaskPushNotificationConfig", {**CONFIG, "taskId": task_id}),
            await rpc(client, "GetTaskPushNotificationConfig", {"id": "c1", "taskId": task_id}),
            await rpc(client, "ListTaskPushNotificationConfigs", {"taskId": task_id}),
            await rpc(client, "DeleteTaskPushNotificationConfig", {"id": "c1", "taskId": task_id}),
            await rpc(client, "GetTaskPushNotificationConfig", {"id": "c1", "taskId": task_id}),
            await rpc(client, "CancelTask", {"id": task_id}),
            await rpc(client, "CancelTask", {"id": task_id}),
            await rpc(client, "SubscribeToTask", {"id": task_id}),
            await rpc(client, "GetExtendedAgentCard", {}),
        ]

    compare(conversation)


def test_tasks_over_http() -> None:
    async def conversation(client: httpx.AsyncClient) -> list[httpx.Response]:
        done = await client.post("/a2a/message:send", json=message("say hi"))
        parked = await client.post("/a2a/message:send", json=message("park ?"))
        path = f"/a2a/tasks/{parked.json()['task']['id']}"
        return [
            done,
            parked,
            await client.post("/a2a/message:stream", json=message("stream a|b")),
            await client.get(path, params={"historyLength": 0}),
            await client.get(path, params={"historyLength": "x"}),
            await client.get("/a2a/tasks", params={"pageSize": 2}),
            await client.get("/a2a/tasks", params={"includeArtifacts": "true", "unknown": "1"}),
            await client.post(f"{path}/pushNotificationConfigs", json=CONFIG),
            await client.get(f"{path}/pushNotificationConfigs/c1"),
            await client.get(f"{path}/pushNotificationConfigs"),
            await client.delete(f"{path}/pushNotificationConfigs/c1"),
            await client.get(f"{path}/pushNotificationConfigs/c1"),
            await client.post(f"{path}:cancel"),
            await client.post(f"{path}:cancel", json={}),
            await client.get(f"{path}:subscribe"),
            await client.post(f"{path}:subscribe"),
            await client.get("/a2a/tasks/none"),
            await client.get("/a2a/extendedAgentCard"),
            await client.get("/a2a/none"),
        ]

    compare(conversation)


@pytest.mark.parametrize(
    "body",
    [
        *("{", "", "[]", "5", "null", '"x"', "{}", '[{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}]'),
        '{"jsonrpc": "2.0", "id": 1}',
        '{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}',
        '{"jsonrpc": "2.0", "id": 1, "method": 5}',
        '{"jsonrpc": "2.0", "id": 1, "method": ""}',
        '{"jsonrpc": "2.0", "id": 1, "method": "rpc.x"}',
        '{"jsonrpc": "2.0", "id": 1, "method": "a/b"}',
        '{"jsonrpc": "2.0", "id": 1.5, "method": "GetTask"}',
        '{"jsonrpc": "2.0", "id": true, "method": "GetTask"}',
        '{"jsonrpc": "2.0", "id": [], "method": "GetTask"}',
        '{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "more": 1}',
        '{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": 5}',
        '{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": ["x"]}',
        '{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": {}}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}',
        '{"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "none"}}',
        '{"jsonrpc": "2.0", "id": null, "method": "GetTask", "params": {"id": "none"}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": null}',
        '{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": []}',
        '{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"parts": []}}}',
    ],
)
def test_requests_of_json_rpc_that_are_wrong(body: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> list[httpx.Response]:
        return [await client.post("/", content=body, headers={"Content-Type": "application/json"})]

    compare(conversation)


@pytest.mark.parametrize("token_set", [False, True])
def test_the_fields_of_the_card_for_old_clients(token_set: bool) -> None:
    card = agent_card(about(URL), token_set=token_set)
    expected: Json = {**agent_card_to_dict(card), "protocolVersion": "0.3.0"}
    assert card_document(card) == expected
