"""The HTTP servers of one agent: the public one for every client, the private one for our own commands."""

import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, Field
from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from synapse import __version__
from synapse.agent_terminal import AgentTerminal
from synapse.base.loading import load
from synapse.server.about import CARD, REST, About
from synapse.server.dialect.external import ExternalClient
from synapse.server.dialect.routes import dialect_routes
from synapse.server.docs_page import docs_routes
from synapse.server.outbound import Outbound
from synapse.server.terminal_routes import terminal_routes
from synapse.tasks.engine import TaskEngine


class Status(BaseModel):
    status: str = Field(examples=["READY"])
    context: str = Field(description="the last 2000 characters of rendered text")
    agent_id: str
    name: str
    agent_type: str
    title: str = Field(description="the window title that the agent has set")


def public_app(
    controller: AgentTerminal,
    engine: TaskEngine,
    about: About,
    outbound: Outbound,
    external: ExternalClient,
    token_set: bool = False,
) -> FastAPI:
    """What the TCP port serves: the specifications' endpoints and the A2A standard, versions 1.0 and 0.3."""
    title = f"Synapse: {about.name}"
    app = FastAPI(title=title, version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)

    @app.get("/status", tags=["Agent"])
    async def status() -> Status:
        """Get the agent's status and the end of its output."""
        return Status(
            status=controller.status,
            context=controller.get_context(),
            agent_id=about.agent_id,
            name=about.name,
            agent_type=about.agent_type,
            title=controller.screen.title,
        )

    def standard() -> list[BaseRoute]:
        from synapse.server.standard.routes import standard_routes

        return standard_routes(engine, about, outbound.push, token_set=token_set)

    dialect = dialect_routes(engine, about, outbound.callbacks, external, token_set=token_set)
    app.router.routes += [*dialect.routes, *docs_routes().routes, _LazyStandardRoutes(standard)]
    return app


def private_app(
    controller: AgentTerminal, engine: TaskEngine, about: About, outbound: Outbound, external: ExternalClient
) -> FastAPI:
    app = public_app(controller, engine, about, outbound, external)
    app.router.routes += terminal_routes(controller).routes
    return app


class _LazyStandardRoutes(BaseRoute):
    """The routes of the A2A standard, made at the first request: their imports take as long as all others."""

    def __init__(self, make: Callable[[], list[BaseRoute]]) -> None:
        self._make = make
        self._router: Router | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope.get("path", "")
        ours = scope["type"] == "http" and (path in ("/", CARD) or path.startswith(f"{REST}/"))
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            await load("synapse.server.standard.routes")
            self._router = self._router or Router(self._make(), redirect_slashes=False)
        await self._router(scope, receive, send)


class HttpServer(uvicorn.Server):
    """Serves an application on one listening socket. The host handles signals and decides when it ends."""

    def __init__(
        self, app: Any, listener: socket.socket, connection: type[HttpToolsProtocol] = HttpToolsProtocol
    ) -> None:
        config = uvicorn.Config(
            app,
            loop="none",
            http=connection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",  # below that, uvicorn logs every start and end
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,  # any user of this machine could pretend to be another client
            timeout_graceful_shutdown=1,  # second for the requests that are being served
        )
        super().__init__(config)
        self._listener = listener

    async def open(self) -> None:
        """Serve from now on. uvicorn's `serve` would also handle signals and wake up ten times a second."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=[self._listener])

    async def close(self) -> None:
        await self.shutdown(sockets=[self._listener])
