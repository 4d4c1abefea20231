"""The endpoints that FastAPI serves and documents: the specifications', and those for our own commands."""

from fastapi import FastAPI
from pydantic import BaseModel, Field

from synapse import __version__
from synapse.agent_terminal import AgentTerminal
from synapse.base.loading import NEVER, leave_out
from synapse.delivery.questions import Questions
from synapse.event_emitter import timestamp
from synapse.server.about import About
from synapse.server.dialect.callbacks import Callbacks
from synapse.server.dialect.external import ExternalClient
from synapse.server.dialect.routes import dialect_routes
from synapse.server.docs_page import docs_routes
from synapse.server.questions import question_routes
from synapse.server.terminal_routes import terminal_routes
from synapse.tasks.engine import TaskEngine


class Status(BaseModel):
    status: str = Field(examples=["READY"])
    context: str = Field(description="the last 2000 characters of rendered text")
    agent_id: str
    name: str
    agent_type: str
    title: str = Field(description="the window title that the agent has set")
    limited_until: str | None = Field(
        None, description="the end of the CLI's usage or rate limit, if it said so"
    )


@leave_out(*NEVER)
def public_endpoints(
    controller: AgentTerminal,
    engine: TaskEngine,
    questions: Questions,
    about: About,
    callbacks: Callbacks,
    external: ExternalClient,
    *,
    token_set: bool = False,
) -> FastAPI:
    """Those of the TCP port."""
    app = _app(f"Synapse: {about.name}")

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
            limited_until=timestamp(controller.limited_until) if controller.limited_until else None,
        )

    dialect = dialect_routes(engine, about, callbacks, external, token_set=token_set)
    for part in (dialect, question_routes(questions), docs_routes()):
        app.router.routes += part.routes
    return app


@leave_out(*NEVER)
def private_endpoints(public: FastAPI, controller: AgentTerminal, engine: TaskEngine) -> FastAPI:
    """The same, and those of the terminal."""
    app = _app(public.title)
    app.router.routes += [*public.router.routes, *terminal_routes(controller, engine).routes]
    return app


def _app(title: str) -> FastAPI:
    return FastAPI(title=title, version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
