"""The HTTP server of one agent: what everybody may ask, and what only our own commands may."""

import socket
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, Field
from starlette.routing import BaseRoute
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from synapse import __version__
from synapse.agent_terminal import AgentTerminal
from synapse.server.about import About
from synapse.server.dialect.external_routes import ExternalAgents
from synapse.server.dialect.routes import dialect_routes
from synapse.server.docs_page import docs_routes
from synapse.server.outbound import Outbound
from synapse.server.standard.lazy import LazyStandardRoutes
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
    external: ExternalAgents,
    token_set: bool = False,
) -> FastAPI:
    """What the TCP port serves: the specification's dialect, and the standard in both its versions."""
    app = FastAPI(
        title=f"Synapse: {about.name}",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )

    @app.get("/status", tags=["Agent"])
    async def status() -> Status:
        """What the agent is doing, and the end of what it shows."""
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
    app.router.routes += [*dialect.routes, *docs_routes().routes, LazyStandardRoutes(standard)]
    return app


def private_app(
    controller: AgentTerminal,
    engine: TaskEngine,
    about: About,
    outbound: Outbound,
    external: ExternalAgents,
) -> FastAPI:
    """What the Unix socket serves besides: the terminal itself."""
    app = public_app(controller, engine, about, outbound, external)

    app.router.routes += terminal_routes(controller).routes

    @app.get("/why")
    async def why() -> dict[str, Any]:
        return controller.explain()

    @app.get("/turns")
    async def turns() -> dict[str, Any]:
        tracker = controller.observer.turns
        known = [*tracker.finished, *([tracker.current] if tracker.current else [])]
        return {"turns": [turn.to_dict() for turn in known]}

    return app


class HttpServer(uvicorn.Server):
    """Serves an application on one listening socket. The host handles signals and decides when it ends."""

    def __init__(
        self, app: Any, listener: socket.socket, connection: type[HttpToolsProtocol] = HttpToolsProtocol
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="none",
                http=connection,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",  # it would log every start and end
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,  # any user of this machine could claim to be somebody else
                timeout_graceful_shutdown=1,
            )
        )
        self._listener = listener

    async def open(self) -> None:
        """Serve from now on. uvicorn's `serve` would also handle signals and wake up ten times a second."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=[self._listener])

    async def close(self) -> None:
        """Requests that are being served have a second to end."""
        await self.shutdown(sockets=[self._listener])
