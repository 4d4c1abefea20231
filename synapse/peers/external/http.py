"""Calling external agents: only the address that was checked, and bounded in bytes and time.

httpx (0.2 s) and the SDK (0.6 s) are imported when an agent is called, in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from synapse.base.loading import load
from synapse.base.urls import Pinned, UrlRefused, UrlUnresolved, pin_url_async
from synapse.errors import SynapseError

if TYPE_CHECKING:
    import httpx

ANSWER = 30.0  # seconds for one answer
CONNECT = 10.0
SILENCE = 90.0  # seconds without a byte of a stream
LARGEST_CARD = 1 << 20
LARGEST = 32 << 20  # bytes of an answer
LARGEST_STREAM = 64 << 20  # bytes of all the streams of one task
REDIRECTS = 3
ATTEMPTS = 3  # to connect; what may have arrived is never sent again
NETWORKS = ("public", "loopback", "private")


class Unreachable(SynapseError):
    """Nobody answers there, or not in time."""


class NotThere(SynapseError):
    """There is nothing at that path."""


class AddressRefused(SynapseError):
    """An address that is not called from here."""


async def network_of(url: str, allow_private: bool) -> str:
    """Where an address leads. It is held to that later, whatever its name means by then."""
    for network in NETWORKS:
        try:
            await pin(url, network)
            return network
        except UrlUnresolved as error:
            raise Unreachable(str(error)) from error
        except UrlRefused as error:
            if network == NETWORKS[-1] or (network == "loopback" and not allow_private):
                raise AddressRefused(str(error)) from error
    raise AssertionError("the last network raises")


async def pin(url: str, network: str) -> Pinned:
    return await pin_url_async(url, network == "private", network != "public")


class Caller:
    """Calls to one agent. `name` is what it is called in sentences."""

    def __init__(self, name: str, network: str, token: str | None = None) -> None:
        self.name = name
        self._network = network
        self._token = token
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Caller:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def client(self) -> httpx.AsyncClient:
        """The HTTP client with all checks, which the SDK uses too."""
        if self._client is None:
            await load("synapse.peers.external.checked")
            from synapse.peers.external.checked import open_client

            self._client = open_client(self.name, self._network, self._token)
        return self._client

    async def ask(self, method: str, url: str, body: object = None, largest: int | None = None) -> Any:
        """The JSON of an answer."""
        client = await self.client()
        async with self.patience():
            return (await client.request(method, url, json=body, extensions={"largest": largest})).json()

    @asynccontextmanager
    async def patience(self) -> AsyncGenerator[None, None]:
        """The time that one answer may take."""
        try:
            async with asyncio.timeout(ANSWER):
                yield
        except TimeoutError:
            raise Unreachable(f"{self.name} does not answer within {ANSWER:g} s: try again later.") from None
