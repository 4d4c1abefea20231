"""`/external/*`: external agents, by an alias. The client that calls them is given."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Body, Path
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from synapse.server.dialect.models import MessageOrText
from synapse.server.refusals import Route, Unavailable, reading, responses
from synapse.tasks.task import Json, TaskError, message_text

ALIAS = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class NoSuchAgent(TaskError):
    code = "AGENT_NOT_FOUND"
    status = 404


class ExternalFailed(TaskError):
    """The other agent cannot be reached, or does not answer as it should: one sentence."""

    code = "EXTERNAL_FAILED"
    status = 502


class ExternalAgents(Protocol):
    """What is needed of a client. Failures are told as a TaskError: ExternalFailed, BadMessage for an address
    that is not called, NoSuchAgent."""

    async def discover(self, url: str, alias: str | None) -> Json:
        """Read the card there and remember the agent: what is known of it."""

    async def list_agents(self) -> list[Json]: ...

    async def remove_agent(self, alias: str) -> bool: ...

    async def send_message(self, alias: str, message: str, wait: bool) -> Json:
        """The task that came of it."""


class DiscoverRequest(BaseModel):
    url: str = Field(min_length=1, max_length=2048, description="where the agent is, without a path")
    alias: str | None = Field(None, pattern=ALIAS, description="a name for it; its own, if left out")


class ExternalSend(BaseModel):
    message: MessageOrText
    wait: bool = Field(False, description="whether to answer only when the task is over")


class ExternalAgent(BaseModel):
    alias: str
    name: str
    url: str
    description: str = ""
    capabilities: dict[str, Any] = {}
    skills: list[dict[str, Any]] = []
    added_at: str | None = None
    last_seen: str | None = None


class ExternalList(BaseModel):
    agents: list[ExternalAgent]


class Removed(BaseModel):
    status: str = Field("removed", examples=["removed"])
    alias: str


class ExternalTask(BaseModel):
    task: dict[str, Any]


Alias = Annotated[str, Path(pattern=ALIAS, examples=["weather"])]


def external_routes(external: ExternalAgents | None) -> APIRouter:
    router = APIRouter(prefix="/external", route_class=Route, tags=["External agents"])

    def agents() -> ExternalAgents:
        if external is None:
            raise Unavailable("this agent does not call external agents.")
        return external

    async def known(alias: str) -> Json:
        found = next((agent for agent in await agents().list_agents() if agent.get("alias") == alias), None)
        if found is None:
            raise _unknown(alias)
        return found

    @router.post("/discover", response_model=ExternalAgent, responses=responses(502, 503))
    async def discover(
        request: Annotated[
            DiscoverRequest,
            Body(
                openapi_examples={
                    "by address": {"value": {"url": "http://localhost:9000", "alias": "weather"}}
                }
            ),
        ],
    ) -> Response:
        """Read an agent's card and remember it under an alias."""
        return JSONResponse(await agents().discover(request.url, request.alias))

    @router.get("/agents", response_model=ExternalList, responses=reading(503))
    async def list_agents() -> Response:
        """The agents that are remembered."""
        return JSONResponse({"agents": await agents().list_agents()})

    @router.get("/agents/{alias}", response_model=ExternalAgent, responses=reading(404, 503))
    async def get_agent(alias: Alias) -> Response:
        """One of them."""
        return JSONResponse(await known(alias))

    @router.delete("/agents/{alias}", response_model=Removed, responses=reading(404, 503))
    async def remove_agent(alias: Alias) -> Response:
        """Forget one."""
        if not await agents().remove_agent(alias):
            raise _unknown(alias)
        return JSONResponse({"status": "removed", "alias": alias})

    @router.post("/agents/{alias}/send", response_model=ExternalTask, responses=responses(404, 502, 503))
    async def send(
        alias: Alias,
        request: Annotated[
            ExternalSend, Body(openapi_examples={"text": {"value": {"message": "What is the weather?"}}})
        ],
    ) -> Response:
        """Send one a message."""
        await known(alias)
        text = message_text(request.message.neutral())
        return JSONResponse({"task": await agents().send_message(alias, text, request.wait)})

    return router


def _unknown(alias: str) -> NoSuchAgent:
    return NoSuchAgent(f"no agent is known as {alias!r}: GET /external/agents lists them.")
