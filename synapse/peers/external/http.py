"""Calls to external agents: only to addresses that were checked, with limits in bytes and time.

httpx (0.2 s) and the SDK (0.6 s) are imported when an agent is called, in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synapse.base.loading import load
from synapse.base.urls import Pinned, UrlRefused, UrlUnresolved, pin_url_async
from synapse.errors import SynapseError
from synapse.peers.external.credentials import Credentials
from synapse.peers.fifo import is_forbidden

if TYPE_CHECKING:
    import httpx

ANSWER = 30.0  # seconds for one response
CONNECT = 10.0  # seconds
SILENCE = 90.0  # seconds without a byte of a stream
LARGEST_CARD = 1 << 20
LARGEST = 32 << 20  # bytes of a response
LARGEST_STREAM = 64 << 20  # bytes of all the streams of one task
REDIRECTS = 3
ATTEMPTS = 3  # to connect; a request that may have arrived is never sent again
NETWORKS = ("public", "loopback", "private")


class Unreachable(SynapseError):
    """Nothing answers at that address, or not in time."""


class NotThere(SynapseError):
    """There is nothing at that path."""


class AddressRefused(SynapseError):
    """The address is not one that we call."""


async def network_of(url: str, allow_private: bool) -> str:
    """The network of an address. Later calls stay in it, also if the name is resolved differently then."""
    _check_connections(url)
    for network in NETWORKS if allow_private else NETWORKS[:2]:
        try:
            await pin(url, network)
            return network
        except AddressRefused as error:
            refused = error
    raise refused


async def pin(url: str, network: str) -> Pinned:
    try:
        return await pin_url_async(url, network == "private", network != "public")
    except UrlUnresolved as error:
        raise Unreachable(str(error)) from error
    except UrlRefused as error:
        raise AddressRefused(str(error)) from error


class Caller:
    """Calls to one agent. `name` stands for it in sentences; the SDK uses `client` too."""

    def __init__(self, name: str, client: httpx.AsyncClient) -> None:
        self._name = name
        self.client = client

    async def ask(self, method: str, url: str, body: object = None, largest: int | None = None) -> Any:
        extensions = {"largest": largest}
        async with self.patience():
            return (await self.client.request(method, url, json=body, extensions=extensions)).json()

    @asynccontextmanager
    async def patience(self) -> AsyncGenerator[None, None]:
        try:
            async with asyncio.timeout(ANSWER):
                yield
        except TimeoutError:
            raise Unreachable(f"{self._name} does not answer within {ANSWER:g} s: try again later.") from None


@dataclass
class Access:
    """How requests to an agent are made: its credentials, `keep` for renewed ones, what its card asks for,
    and the extensions that it requires."""

    credentials: Credentials = field(default_factory=Credentials)
    keep: Callable[[Credentials], None] = lambda _: None
    wants: Mapping[str, Any] = field(default_factory=dict)
    extensions: Sequence[str] = ()


@asynccontextmanager
async def open_caller(name: str, network: str, access: Access | None = None) -> AsyncGenerator[Caller, None]:
    _check_connections(name)
    await load("synapse.peers.external.checked")
    from synapse.peers.external.checked import open_client

    async with open_client(name, network, access or Access()) as client:
        yield Caller(name, client)


def _check_connections(name: str) -> None:
    if is_forbidden():
        raise Unreachable(f"{name} cannot be called from this sandbox: run the command outside of it.")
