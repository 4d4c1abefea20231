"""`ExternalAgents` over the A2A client: results as JSON, the client's errors as errors of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from synapse.a2a_client import AsyncA2AClient
from synapse.errors import NoSuchAgent, SynapseError, UsageError
from synapse.peers.external.http import AddressRefused
from synapse.peers.task import StillWorking
from synapse.server.dialect.external_routes import ExternalFailed
from synapse.server.dialect.external_routes import NoSuchAgent as NotKnown
from synapse.tasks.task import BadMessage, Json


class ExternalClient:
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
    except NoSuchAgent as error:
        raise NotKnown(str(error)) from error
    except (UsageError, AddressRefused) as error:
        raise BadMessage(str(error)) from error
    except SynapseError as error:
        raise ExternalFailed(str(error)) from error
