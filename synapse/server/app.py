"""The HTTP applications of one agent: a public one for every client, a private one for our own commands.

What they serve is imported at the first request for it: FastAPI and pydantic take 12 MB, and the types of the
A2A standard 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Router

from synapse.agent_terminal import AgentTerminal
from synapse.base.loading import load
from synapse.delivery.questions import Questions
from synapse.server.about import CARD, REST, About
from synapse.server.lazy import LazyRoutes
from synapse.server.live.route import LiveRoute, MakeLive
from synapse.server.outbound import Outbound
from synapse.tasks.engine import TaskEngine

if TYPE_CHECKING:
    from fastapi import FastAPI

    from synapse.server.dialect.external import ExternalClient

ENDPOINTS = "synapse.server.endpoints"


def public_app(
    controller: AgentTerminal,
    engine: TaskEngine,
    questions: Questions,
    about: About,
    outbound: Outbound,
    external: Callable[[], ExternalClient],
    live: MakeLive,
    *,
    token_set: bool = False,
) -> Starlette:
    """What the TCP port serves: the specifications' endpoints and the A2A standard, versions 1.0 and 0.3."""

    async def standard() -> Router:
        await load("synapse.server.standard.routes")
        from synapse.server.standard.routes import standard_routes

        made = standard_routes(engine, about, outbound.push, token_set=token_set)
        return Router(made, redirect_slashes=False)

    async def endpoints() -> FastAPI:
        await load(ENDPOINTS)
        from synapse.server.endpoints import public_endpoints

        return public_endpoints(
            controller, engine, questions, about, outbound.callbacks, external(), token_set=token_set
        )

    return _app([LiveRoute(live), LazyRoutes(_of_the_standard, standard), LazyRoutes(_any, endpoints)])


def private_app(public: Starlette, controller: AgentTerminal, engine: TaskEngine) -> Starlette:
    """The same, and the endpoints of the terminal."""
    *others, endpoints = public.routes

    async def with_terminal() -> FastAPI:
        made = await cast(LazyRoutes, endpoints).app()
        from synapse.server.endpoints import private_endpoints

        return private_endpoints(cast(Any, made), controller, engine)

    return _app([*others, LazyRoutes(_any, with_terminal)])


def _app(routes: list[BaseRoute]) -> Starlette:
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
    app.router.redirect_slashes = False
    return app


def _of_the_standard(path: str) -> bool:
    return path in ("/", CARD) or path.startswith(f"{REST}/")


def _any(path: str) -> bool:
    return True


async def _refused(_: Request, error: Exception) -> Response:
    """In JSON, as FastAPI does it."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, error.headers)
