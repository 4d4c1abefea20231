"""Calling agents elsewhere: the address that was checked, no other host, bounded in bytes and time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from synapse.base.urls import Pinned, UrlRefused, UrlUnresolved, pin_url_async
from synapse.errors import Refused, SynapseError
from synapse.peers.external.wire import Call

if TYPE_CHECKING:
    import httpx

ANSWER = 30.0  # seconds for one answer
CONNECT = 10.0
SILENCE = 90.0  # seconds without a byte of a stream
LARGEST_CARD = 1 << 20
LARGEST = 32 << 20  # bytes of an answer
LARGEST_STREAM = 64 << 20
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
            await _pin(url, network)
            return network
        except UrlUnresolved as error:
            raise Unreachable(str(error)) from error
        except UrlRefused as error:
            if network == NETWORKS[-1] or (network == "loopback" and not allow_private):
                raise AddressRefused(str(error)) from error
    raise AssertionError("the last network raises")


async def _pin(url: str, network: str) -> Pinned:
    return await pin_url_async(url, network == "private", network != "public")


class Caller:
    """Calls to one agent. `name` is what it is called in sentences."""

    def __init__(self, name: str, network: str, token: str | None = None) -> None:
        self._name = name
        self._network = network
        self._token = token
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Caller:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def ask(self, call: Call, largest: int = LARGEST, patience: float = ANSWER) -> Any:
        """The JSON of an answer."""
        try:
            async with asyncio.timeout(patience), self.open(call) as response:
                return await self.read(response, largest)
        except TimeoutError:
            raise Unreachable(
                f"{self._name} does not answer within {patience:g} s: try again later."
            ) from None

    async def read(self, response: httpx.Response, largest: int = LARGEST) -> Any:
        body = bytearray()
        async for piece in self.pieces(response, largest):
            body += piece
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if response.status_code >= 400:
            self._refuse(response.status_code, answer)
        if answer is None:
            raise SynapseError(f"{self._name} answered something that is not JSON: is this an agent?")
        return answer

    def _refuse(self, status: int, answer: object) -> None:
        """The answer's own sentence if it has one. One of JSON-RPC is read where its result is wanted."""
        if isinstance(answer, dict) and "jsonrpc" in answer:
            return
        if status in (401, 403) and self._token is None:
            raise Refused(
                f"{self._name} wants a token: add it again with --token-file (status {status}).", str(status)
            )
        if status in (404, 405, 410):
            said = _sentence(answer)
            raise NotThere(f"{self._name} has nothing there (status {status}){f': {said}' if said else '.'}")
        raise Refused(f"{self._name} refused: {_sentence(answer) or f'status {status}.'}", str(status))

    async def pieces(self, response: httpx.Response, largest: int) -> AsyncGenerator[bytes, None]:
        """The body as it comes, up to a bound."""
        import httpx

        total = 0
        try:
            async for piece in response.aiter_raw():
                total += len(piece)
                if total > largest:
                    raise SynapseError(
                        f"{self._name} sent more than {largest >> 20} MB, and was cut off: ask for less."
                    )
                yield piece
        except httpx.ReadTimeout as error:
            raise Unreachable(f"{self._name} has been silent for {SILENCE:g} s.") from error
        except httpx.HTTPError as error:
            raise Unreachable(
                f"{self._name} left in the middle of its answer ({type(error).__name__})."
            ) from error

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncGenerator[httpx.Response, None]:
        """The answer to a call, its body not yet read. Redirects are followed on the same host only."""
        url = call.url
        for _ in range(REDIRECTS + 1):
            response = await self._once(call._replace(url=url))
            try:
                if not 300 <= response.status_code < 400:
                    yield response
                    return
                url = self._redirected(call, url, response)
            finally:
                await response.aclose()
        raise SynapseError(f"{self._name} redirects from one place to the next without end.")

    def _redirected(self, call: Call, url: str, response: httpx.Response) -> str:
        there = urljoin(url, str(response.headers.get("location", "")))
        here, to = urlsplit(url), urlsplit(there)
        if (here.scheme, here.netloc) != (to.scheme, to.netloc):
            raise SynapseError(
                f"{self._name} redirects to {there[:200]!r}, which is somewhere else: "
                "add that address itself, if you trust it."
            )
        if call.method != "GET" and response.status_code not in (307, 308):
            raise SynapseError(f"{self._name} redirects a message to {there[:200]!r}: add it anew.")
        return there

    async def _once(self, call: Call) -> httpx.Response:
        import httpx

        headers = {"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"}
        headers |= call.headers
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        content = None
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(call.body, ensure_ascii=False).encode("utf-8", "replace")
        pause = 0.2
        for attempt in range(1, ATTEMPTS + 1):
            try:
                pinned = await _pin(call.url, self._network)
            except UrlUnresolved as error:
                raise Unreachable(str(error)) from error
            except UrlRefused as error:
                raise AddressRefused(f"{self._name} is not called: {error}") from error
            client = await self._open_client(pinned.scheme == "https")
            request = client.build_request(
                call.method,
                pinned.direct(pinned.addresses[(attempt - 1) % len(pinned.addresses)]),
                content=content,
                headers={**headers, "Host": pinned.host_header},
                extensions={"sni_hostname": pinned.host},
            )
            try:
                return await client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if attempt == ATTEMPTS:
                    raise Unreachable(
                        f"{self._name} cannot be reached at {_bare(call.url)}: is it running there?"
                    ) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise Unreachable(f"{self._name} did not answer ({type(error).__name__}).") from error
            await asyncio.sleep(pause)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    async def _open_client(self, https: bool) -> httpx.AsyncClient:
        if self._client is None:
            self._client = await asyncio.to_thread(_client, https)
        return self._client


def _client(https: bool) -> httpx.AsyncClient:
    """In a thread: the import takes 0.2 s, and reading the certificates 50 ms."""
    import httpx

    timeout = httpx.Timeout(SILENCE, connect=CONNECT)
    return httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False, verify=https)


def _bare(url: str) -> str:
    return url.partition("?")[0]


def _sentence(answer: object) -> str:
    """What an error says for itself, in the usual places."""
    if not isinstance(answer, dict):
        return ""
    error = answer.get("error")
    found = error.get("message") if isinstance(error, dict) else error or answer.get("detail")
    return str(found)[:500] if isinstance(found, str) else ""
