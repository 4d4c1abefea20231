"""`/external/*`: external agents, that is, agents on other machines or of other frameworks, by alias."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from synapse import errors
from synapse.a2a_client import AsyncA2AClient
from synapse.peers.external.http import AddressRefused
from synapse.peers.task import StillWorking
from synapse.server.dialect.models import Document, MessageOrText
from synapse.server.refusals import Route, Unavailable, reading, responses
from synapse.tasks.task import BadMessage, Json, TaskError, message_text

ALIAS = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class NoSuchAgent(TaskError):
    code = "AGENT_NOT_FOUND"
    status = 404


class ExternalFailed(TaskError):
    """The external agent cannot be reached, or its answer is not valid."""

    code = "EXTERNAL_FAILED"
    status = 502


class ExternalClient:
    """The A2A client for the routes: results as JSON, the client's errors as errors of the server."""

    def __init__(self, client: AsyncA2AClient) -> None:
        self._client = client

    async def discover(self, url: str, alias: str | None) -> Json:
        with _refusals():
            return (await self._client.discover(url, alias)).to_dict()

    async def list_agents(self) -> list[Json]:
        return [agent.to_dict() for agent in self._client.list_agents()]

    async def remove_agent(self, alias: str) -> bool:
        with _refusals():
            return self._client.remove_agent(alias)

    async def send_message(self, alias: str, message: str, wait: bool) -> Json:
        """With `wait`, a task that takes too long is returned as it is."""
        with _refusals():
            try:
                task = await self._client.send_message(alias, message, wait)
            except StillWorking as error:
                if not error.task.id:
                    raise
                task = error.task
            return task.to_dict()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except errors.NoSuchAgent as error:
        raise NoSuchAgent(str(error)) from error
    except (errors.UsageError, AddressRefused) as error:
        raise BadMessage(str(error)) from error
    except errors.SynapseError as error:
        raise ExternalFailed(str(error)) from error


class DiscoverRequest(BaseModel):
    url: str = Field(min_length=1, max_length=2048, description="the agent's address, without a path")
    alias: str | None = Field(None, pattern=ALIAS, description="a name for it; by default its own")


class ExternalSend(BaseModel):
    message: MessageOrText
    wait: bool = Field(False, description="respond only when the task has ended")


class ExternalAgent(Document):
    alias: str
    name: str
    url: str
    description: str = ""
    capabilities: dict[str, Any] = Field({})
    skills: list[dict[str, Any]] = Field([])
    added_at: str | None = None
    last_seen: str | None = None


class ExternalList(Document):
    agents: list[ExternalAgent]


class Removed(Document):
    status: str = Field("removed", examples=["removed"])
    alias: str


class ExternalTask(Document):
    task: dict[str, Any]


Alias = Annotated[str, Path(pattern=ALIAS, examples=["weather"])]
_DISCOVER = {"by address": {"value": {"url": "http://localhost:9000", "alias": "weather"}}}
_SEND = {"text": {"value": {"message": "What is the weather?"}}}


def external_routes(external: ExternalClient | None) -> APIRouter:
    router = APIRouter(prefix="/external", route_class=Route, tags=["External agents"])

    def agents() -> ExternalClient:
        if external is None:
            raise Unavailable("this agent has no client for external agents.")
        return external

    async def known(alias: str) -> Json:
        for agent in await agents().list_agents():
            if agent.get("alias") == alias:
                return agent
        raise NoSuchAgent(f"there is no external agent {alias!r}: GET /external/agents lists them.")

    @router.post("/discover", response_model=ExternalAgent, responses=responses(502, 503))
    async def discover(request: Annotated[DiscoverRequest, Body(openapi_examples=_DISCOVER)]) -> Response:
        """Read an external agent's card and store it under an alias."""
        return JSONResponse(await agents().discover(request.url, request.alias))

    @router.get("/agents", response_model=ExternalList, responses=reading(503))
    async def list_agents() -> Response:
        """List the stored external agents."""
        return JSONResponse({"agents": await agents().list_agents()})

    @router.get("/agents/{alias}", response_model=ExternalAgent, responses=reading(404, 503))
    async def get_agent(alias: Alias) -> Response:
        """Get one external agent."""
        return JSONResponse(await known(alias))

    @router.delete("/agents/{alias}", response_model=Removed, responses=reading(404, 503))
    async def remove_agent(alias: Alias) -> Response:
        """Remove an external agent."""
        await known(alias)
        await agents().remove_agent(alias)
        return JSONResponse({"status": "removed", "alias": alias})

    @router.post("/agents/{alias}/send", response_model=ExternalTask, responses=responses(404, 502, 503))
    async def send(alias: Alias, request: Annotated[ExternalSend, Body(openapi_examples=_SEND)]) -> Response:
        """Send a message to an external agent."""
        await known(alias)
        text = message_text(request.message.neutral())
        return JSONResponse({"task": await agents().send_message(alias, text, request.wait)})

    return router
