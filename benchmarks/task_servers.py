"""The same agent behind two servers: the a2a-sdk's own handler and stores, and Synapse's.

The agent answers ECHO at once with the same text. With any other message it waits until it is told to go,
then says its chunks and is done. All run on the same web server.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable

import uvloop
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.server.tasks.task_store import TaskStore as SdkTaskStore
from a2a.types import a2a_pb2 as pb
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from benchmarks.table import SDK, SDK_SQLITE, SYNAPSE
from synapse.server.about import About
from synapse.server.http_server import HttpServer
from synapse.server.outbound import Outbound
from synapse.server.standard.card import agent_card
from synapse.server.standard.routes import standard_routes
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json, Task, message_text

CHUNKS, SIZE = 1000, 1024
QUEUE = 20_000
ECHO = "echo"
_CHUNK = "x" * SIZE

ABOUT = About(
    agent_id="0",
    name="bench",
    agent_type="bench",
    working_dir="/",
    url="http://localhost",
    title="Benchmark",
    description="It says its chunks",
)


class _Executor(AgentExecutor):
    """The agent for the SDK."""

    def __init__(self, go: asyncio.Event) -> None:
        self._go = go

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if context.get_user_input() == ECHO:
            await updater.add_artifact([pb.Part(text=ECHO)], artifact_id="reply")
            await updater.complete()
            return
        await self._go.wait()
        for number in range(CHUNKS):
            await updater.add_artifact([pb.Part(text=_CHUNK)], artifact_id="reply", append=number > 0)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


class _Courier:
    """The same agent for Synapse, one task at a time."""

    def __init__(self, engine: TaskEngine, go: asyncio.Event) -> None:
        self._engine = engine
        self._go = go
        self._carrying: asyncio.Task[None] | None = None
        engine.courier = self

    def wake(self) -> None:
        task = self._engine.first()
        if task is not None and self._engine.running is None:
            self._engine.start(task)
            self._carrying = asyncio.ensure_future(self._carry(task))

    async def _carry(self, task: Task) -> None:
        self._engine.given(task)
        if message_text(task.message) == ECHO:
            self._engine.finish(task, ECHO, "exact")
            return
        await self._go.wait()
        for _ in range(CHUNKS):
            self._engine.progress(task, _CHUNK, append=True)
            await asyncio.sleep(0)  # as often as the other one lets others run
        self._engine.finish(task, _CHUNK, "exact")

    async def answer(self, task: Task, text: str, by: Json | None, question: str = "") -> None:
        raise NotImplementedError


def _sdk(make_store: Callable[[str], SdkTaskStore], folder: str, go: asyncio.Event) -> list[BaseRoute]:
    handler = DefaultRequestHandlerV2(_Executor(go), make_store(folder), agent_card(ABOUT))
    return list(create_jsonrpc_routes(handler, "/"))


def _synapse(folder: str, go: asyncio.Event) -> list[BaseRoute]:
    engine = TaskEngine(TaskStore(f"{folder}/tasks.db"), Limits(queue=QUEUE))
    _Courier(engine, go)
    return standard_routes(engine, ABOUT, Outbound(engine.store, allow_private=True).push)


def _database(folder: str) -> SdkTaskStore:
    from a2a.server.tasks import DatabaseTaskStore
    from sqlalchemy.ext.asyncio import create_async_engine

    store: SdkTaskStore = DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{folder}/sdk.db"))
    return store


async def serve(kind: str, listener: socket.socket, folder: str) -> None:
    go = asyncio.Event()

    async def tell(request: Request) -> JSONResponse:
        go.set()
        return JSONResponse({})

    if kind == SYNAPSE:
        routes = _synapse(folder, go)
    else:
        routes = _sdk({SDK: lambda _: InMemoryTaskStore(), SDK_SQLITE: _database}[kind], folder, go)
    await HttpServer(Starlette(routes=[Route("/go", tell, methods=["POST"]), *routes]), listener).open()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])), sys.argv[3]))
