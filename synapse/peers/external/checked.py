"""The HTTP client for external agents: it checks addresses, limits responses, and explains refusals."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx

from synapse.errors import Refused, SynapseError
from synapse.peers.external import http
from synapse.peers.external.credentials import lifetime
from synapse.peers.external.http import Access, AddressRefused, NotThere, Unreachable, pin
from synapse.peers.sse import EventTooLong, SSEReader

STREAM = "text/event-stream"
_OPTIONS = {"oauth2": "--client-id ID --client-secret-file FILE", "api_key": "--api-key-file FILE"}
_SEPARATORS = {0x0A: " ", 0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}  # in JSON


def open_client(name: str, network: str, access: Access) -> httpx.AsyncClient:
    headers = {"Accept": f"application/json, {STREAM}", "Accept-Encoding": "identity"}
    if access.extensions:
        named = ", ".join(access.extensions)
        headers |= {"A2A-Extensions": named, "X-A2A-Extensions": named}  # 1.0, 0.3
    return httpx.AsyncClient(
        transport=CheckedTransport(name, network, access),
        timeout=httpx.Timeout(http.SILENCE, connect=http.CONNECT),
        headers=headers,
        follow_redirects=False,
        trust_env=False,
    )


class CheckedTransport(httpx.AsyncBaseTransport):
    """`name` stands for the agent in sentences. Every failure is raised as a SynapseError."""

    def __init__(self, name: str, network: str, access: Access) -> None:
        self._name = name
        self._network = network
        self._access = access
        self._inner: httpx.AsyncHTTPTransport | None = None
        self._left = http.LARGEST_STREAM

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Follow redirects, on the same host only. A 401 renews an access token, once."""
        if self._access.credentials.stale:
            await self._renew()
        url = self._admitted(request)
        renewed = False
        for _ in range(http.REDIRECTS + 2):
            response = await self._send(request, url)
            if response.status_code == 401 and self._access.credentials.kind == "oauth2" and not renewed:
                renewed = True
                await response.aclose()
                await self._renew()
                url = self._admitted(request)
                continue
            if not 300 <= response.status_code < 400:
                return await self._checked(request, response)
            await response.aclose()
            url = self._redirected(request, url, response)
        raise SynapseError(
            f"{self._name} redirects without end: check its address in `synapse external list`."
        )

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()

    def _admitted(self, request: httpx.Request) -> str:
        """Add the credentials to the request; returns its URL."""
        request.headers.update(self._access.credentials.headers())
        return str(request.url.copy_merge_params(self._access.credentials.query()))

    async def _renew(self) -> None:
        """Fetch an access token. The secret goes in the header first, as the standard wants, then in the
        body, which some servers want instead."""
        known = self._access.credentials
        asked = {"grant_type": "client_credentials"}
        if known.scopes:
            asked["scope"] = " ".join(known.scopes)
        own = {"client_id": known.client_id, "client_secret": known.client_secret}
        async with open_client(f"{self._name}'s token server", self._network, Access()) as client:
            basic = httpx.BasicAuth(quote(known.client_id, safe=""), quote(known.client_secret, safe=""))
            try:
                answer = (await client.post(known.token_url, data=asked, auth=basic)).json()
            except Refused:
                answer = (await client.post(known.token_url, data={**asked, **own})).json()
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token or not (token.isascii() and token.isprintable()):
            raise SynapseError(
                f"{self._name}'s token server sent no access token: add it again with other credentials."
            )
        self._access.credentials = replace(
            known, access_token=token, expires_at=time.time() + lifetime(answer)
        )
        self._access.keep(self._access.credentials)

    async def _send(self, request: httpx.Request, url: str) -> httpx.Response:
        """Send to an address that is checked now. Only connecting is tried again."""
        for attempt in range(http.ATTEMPTS):
            await asyncio.sleep(attempt * 0.2)
            try:
                pinned = await pin(url, self._network)
            except AddressRefused as error:
                raise AddressRefused(f"{self._name} is not called: {error}") from error
            if self._inner is None:
                verify = pinned.scheme == "https"  # reading the certificates takes 50 ms
                self._inner = await asyncio.to_thread(
                    httpx.AsyncHTTPTransport, verify=verify, trust_env=False
                )
            direct = httpx.Request(
                request.method,
                pinned.direct(pinned.addresses[attempt % len(pinned.addresses)]),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": pinned.host},
            )
            direct.headers["Host"] = pinned.host_header
            try:
                return await self._inner.handle_async_request(direct)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failed = error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise Unreachable(
                    f"{self._name} did not answer ({type(error).__name__}): try again later."
                ) from error
        where = url.partition("?")[0]
        raise Unreachable(f"{self._name} cannot be reached at {where}: is it running there?") from failed

    def _redirected(self, request: httpx.Request, url: str, response: httpx.Response) -> str:
        there = urljoin(url, str(response.headers.get("location", "")))
        here, to = urlsplit(url), urlsplit(there)
        if (here.scheme, here.netloc) != (to.scheme, to.netloc):
            raise SynapseError(
                f"{self._name} redirects to {there[:200]!r}, which is somewhere else: "
                "add that address itself, if you trust it."
            )
        if request.method != "GET" and response.status_code not in (307, 308):
            raise SynapseError(f"{self._name} redirects a message to {there[:200]!r}: add it anew.")
        return there

    async def _checked(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if response.status_code < 400 and response.headers.get("content-type", "").lower().startswith(STREAM):
            events = _Events(self._events(response, _rpc_id(request)), response)
            return httpx.Response(200, headers={"Content-Type": STREAM}, stream=events)
        largest = request.extensions.get("largest") or http.LARGEST
        try:
            body = b"".join([piece async for piece in self._pieces(response, largest)])
        finally:
            await response.aclose()
        answer = _parsed(body)
        if response.status_code >= 400:
            self._refuse(response.status_code, answer)
        if answer is None:
            raise SynapseError(f"{self._name} answered something that is not JSON: is this an agent?")
        self._check_error(answer)
        self._check_id(answer, _rpc_id(request))
        return httpx.Response(200, headers={"Content-Type": "application/json"}, content=body)

    async def _events(self, response: httpx.Response, rpc_id: object) -> AsyncGenerator[bytes, None]:
        """One line for each event: httpx also ends lines at U+2028 and U+0085, which JSON may contain."""
        reader = SSEReader(http.LARGEST_STREAM)
        async for piece in self._pieces(response, self._left):
            self._left -= len(piece)
            try:
                events = reader.feed(piece)
            except EventTooLong as error:
                raise SynapseError(f"{self._name} sent a stream that makes no sense: {error}.") from error
            for event in events:
                parsed = _parsed(event.data) if rpc_id is not None or '"error"' in event.data else None
                self._check_error(parsed)
                self._check_id(parsed, rpc_id)
                yield f"data: {event.data.translate(_SEPARATORS)}\n\n".encode("utf-8", "replace")

    async def _pieces(self, response: httpx.Response, largest: int) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in response.aiter_raw():
                if response.num_bytes_downloaded > largest:
                    raise SynapseError(
                        f"{self._name} sent more than {largest >> 20} MB, and was cut off: ask for less."
                    )
                yield piece
        except httpx.ReadTimeout as error:
            raise Unreachable(
                f"{self._name} has been silent for {http.SILENCE:g} s: try again later."
            ) from error
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise Unreachable(
                f"{self._name} left in the middle of its answer ({kind}): try again later."
            ) from error

    def _check_error(self, answer: Any) -> None:
        """Raise for an error of JSON-RPC, or a bare one. A task may have a field `error` too."""
        error = answer.get("error") if isinstance(answer, dict) else None
        if error and ("jsonrpc" in answer or "id" not in answer):
            said = error if isinstance(error, dict) else {"message": error}
            sentence = str(said.get("message") or said)[:500]
            raise Refused(f"{self._name} refused: {sentence}", str(said.get("code") or ""))

    def _check_id(self, answer: Any, rpc_id: object) -> None:
        if rpc_id is not None and isinstance(answer, dict) and answer.get("id") != rpc_id:
            raise SynapseError(f"{self._name} answered another request: the id in its JSON-RPC is not ours.")

    def _refuse(self, status: int, answer: Any) -> None:
        if isinstance(answer, dict) and "jsonrpc" in answer:
            self._check_error(answer)
        if status in (401, 403) and not self._access.credentials.kind:
            wants = self._access.wants
            how = (
                " or ".join(option for kind, option in _OPTIONS.items() if kind in wants)
                or "--token-file FILE"
            )
            raise Refused(
                f"{self._name} wants a token: add it again with {how} (status {status}).", str(status)
            )
        said = _sentence(answer)
        if status in (404, 405, 410):
            raise NotThere(f"{self._name} has nothing there: {said or f'status {status}.'}")
        raise Refused(f"{self._name} refused: {said or f'status {status}.'}", str(status))


class _Events(httpx.AsyncByteStream):
    def __init__(self, events: AsyncGenerator[bytes, None], response: httpx.Response) -> None:
        self._events = events
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events

    async def aclose(self) -> None:
        await self._events.aclose()
        await self._response.aclose()


def _rpc_id(request: httpx.Request) -> object:
    """The id of a JSON-RPC request; None if it is none."""
    try:
        asked = _parsed(request.content)
    except httpx.RequestNotRead:
        return None
    return asked.get("id") if isinstance(asked, dict) and "jsonrpc" in asked else None


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _sentence(answer: object) -> str:
    if not isinstance(answer, dict):
        return ""
    error = answer.get("error")
    found = error.get("message") if isinstance(error, dict) else error or answer.get("detail")
    return str(found)[:500] if isinstance(found, str) else ""
