"""The specifications' endpoints on a real socket, with a real engine and a scripted courier."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from synapse.server.about import About
from synapse.server.dialect.callbacks import Callbacks
from synapse.server.dialect.external import ExternalClient, ExternalFailed
from synapse.server.dialect.routes import dialect_routes
from synapse.server.docs_page import docs_routes
from synapse.server.http_server import HttpServer
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json
from tests.support.dialect_courier import ScriptedCourier
from tests.support.patience import PATIENCE
from tests.support.ports import listener

SELF = About(
    agent_id="a" * 64,
    name="claude",
    agent_type="claude",
    working_dir="/srv/project",
    url="http://localhost:8100",
    title="Claude Code",
    version="0.1.0",
)


class Server:
    def __init__(self, path: Path | None, external: ExternalClient | None, limits: dict[str, int]) -> None:
        self.engine = TaskEngine(TaskStore(str(path) if path else ":memory:", "run-1"), Limits(**limits))
        self.courier = ScriptedCourier(self.engine)
        self.posted: list[tuple[str, dict[str, Any]]] = []
        callbacks = Callbacks(self.engine.store, self._check)
        callbacks.send = lambda owed: self.posted.extend((o.url, json.loads(o.body)) for o in owed)  # type: ignore[method-assign]
        self.app = FastAPI(title="Synapse: claude", docs_url=None, redoc_url=None)
        self.app.include_router(dialect_routes(self.engine, SELF, callbacks, external))
        self.app.include_router(docs_routes())
        self.client = httpx.AsyncClient()

    @staticmethod
    async def _check(url: str) -> None:
        if "evil" in url:
            raise ValueError(f"{url} is not called.")

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(path, **more)

    async def post(self, path: str, body: object = None, **more: Any) -> httpx.Response:
        return await self.client.post(path, json=body, **more)

    async def send(self, text: str, **more: Any) -> str:
        """The id of a task that was accepted."""
        response = await self.post("/tasks/send", {"message": text, **more})
        assert response.status_code == 200, response.text
        return str(response.json()["task"]["id"])

    async def until(self, task_id: str, *states: str) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while (task := (await self.get(f"/tasks/{task_id}")).json())["state"] not in states:
                await asyncio.sleep(0.005)
        return dict(task)

    def listeners(self, task_id: str) -> int:
        emitter = self.engine.emitters.get(task_id)
        return emitter.listeners if emitter else 0


@asynccontextmanager
async def serving(
    path: Path | None = None,
    external: ExternalClient | None = None,
    patience: float | None = 60,
    **limits: int,
) -> AsyncIterator[Server]:
    server = Server(path, external, limits)
    sock = listener()
    http = HttpServer(server.app, sock)
    await http.open()
    port = sock.getsockname()[1]
    server.client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, trust_env=False)
    try:
        async with asyncio.timeout(patience):
            yield server
    finally:
        await server.client.aclose()
        await http.close()
        await server.courier.close()
        server.engine.store.close()


def served(test: Callable[[Server], Awaitable[None]], **more: Any) -> None:
    """Run a test against a server of its own."""

    async def main() -> None:
        async with serving(**more) as server:
            await test(server)

    asyncio.run(main())


@dataclass
class Event:
    type: str
    id: str
    data: dict[str, Any]


async def events(response: httpx.Response) -> AsyncIterator[Event]:
    """The server-sent events of a response."""
    kind = number = ""
    data: list[str] = []
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if not line and data:
            yield Event(kind, number, json.loads("\n".join(data)))
            kind, number, data = "", "", []
        elif name == "event":
            kind = value
        elif name == "id":
            number = value
        elif name == "data":
            data.append(value)


class FakeExternalAgents(ExternalClient):
    """In place of the client for external agents. A URL with `down` in it cannot be reached."""

    def __init__(self) -> None:
        self.agents: dict[str, Json] = {}

    async def discover(self, url: str, alias: str | None) -> Json:
        if "down" in url:
            raise ExternalFailed(f"{url} does not answer: is the agent running?")
        agent = {"alias": alias or "weather", "name": "Weather", "url": url}
        return self.agents.setdefault(str(agent["alias"]), agent)

    async def list_agents(self) -> list[Json]:
        return list(self.agents.values())

    async def remove_agent(self, alias: str) -> bool:
        return self.agents.pop(alias, None) is not None

    async def send_message(self, alias: str, message: str, wait: bool) -> Json:
        return {"id": "t", "status": "completed" if wait else "working", "message": message}
