"""The A2A endpoints on loopback, in this process, with a real engine and a scripted courier."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from a2a.types.a2a_pb2 import AgentCard
from fastapi import FastAPI

from synapse.server.about import About
from synapse.server.http_server import HttpServer
from synapse.server.push import PushSender
from synapse.server.standard.card import agent_card
from synapse.server.standard.convert import notification
from synapse.server.standard.grpc import open_grpc
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.routes import standard_routes
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json
from tests.support.patience import PATIENCE
from tests.support.ports import listener
from tests.support.scripted_courier import ScriptedCourier

MakeEngine = Callable[[TaskStore, Limits], TaskEngine]
MakeHandler = Callable[[TaskEngine, PushSender, Callable[[], AgentCard] | None], A2AHandler]


async def anywhere(url: str) -> None:
    """Allow every address: the receivers of these tests are on loopback."""


@dataclass
class Served:
    url: str
    engine: TaskEngine
    courier: ScriptedCourier
    push: PushSender
    http: httpx.AsyncClient

    async def rpc(self, method: str, params: Any, version: str = "1.0", **headers: str) -> Any:
        sent = {"A2A-Version": version, **headers} if version else headers
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self.http.post("/", json=body, headers=sent)).json()


def about(url: str, grpc_port: int = 0) -> About:
    return About(
        grpc_port=grpc_port,
        agent_id="0123456789abcdef",
        name="dummy",
        agent_type="dummy",
        working_dir="/srv/here",
        url=url,
        title="Dummy",
        description="The reference agent",
    )


@asynccontextmanager
async def served(
    *,
    strict: bool = False,
    token_set: bool = False,
    limits: Limits | None = None,
    make_engine: MakeEngine = TaskEngine,
    make_handler: MakeHandler = A2AHandler,
    port: int = 0,
    path: str = ":memory:",
    grpc_port: int | None = None,
) -> AsyncIterator[Served]:
    engine = make_engine(TaskStore(path), limits or Limits())
    push = PushSender(engine.store, anywhere, notification, pause=0.01)
    courier = ScriptedCourier(engine)
    sock = listener(port)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    app = FastAPI(docs_url=None, redoc_url=None)

    @app.get("/status")
    async def status() -> dict[str, str]:
        return {"status": "READY"}

    described = about(url, grpc_port or 0)
    card = functools.partial(agent_card, described, strict=strict, token_set=True, full=True)
    handler = make_handler(engine, push, card if token_set else None)
    app.routes.extend(
        standard_routes(engine, described, push, strict=strict, token_set=token_set, handler=handler)
    )
    server = HttpServer(app, sock)
    await server.open()
    grpc_server = (await open_grpc(handler, f"127.0.0.1:{grpc_port}"))[0] if grpc_port else None
    try:
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, trust_env=False, verify=False) as client:
            yield Served(url, engine, courier, push, client)
    finally:
        closing = asyncio.create_task(server.close())
        await courier.close()
        await push.close()
        if grpc_server is not None:
            await grpc_server.stop(0)
        await closing
        engine.store.close()
        sock.close()


def message(text: str, **more: Any) -> Json:
    return {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}], **more}}


async def send(server: Served, text: str, configuration: Json | None = None, **more: Any) -> Json:
    params = message(text, **more)
    if configuration:
        params["configuration"] = configuration
    answer = await server.rpc("SendMessage", params)
    assert "result" in answer, answer
    return dict(answer["result"]["task"])


def code(answer: Json) -> int:
    return int(answer["error"]["code"])


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)
