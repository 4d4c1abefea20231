"""The routes of the A2A standard: the card, JSON-RPC at `/`, HTTP+JSON under `/a2a`; versions 1.0 and 0.3."""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from email.utils import formatdate
from typing import Any

os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")  # read when the SDK is imported

from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.jsonrpc_models import JSONParseError as RpcParseError
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.types.a2a_pb2 import TaskState
from a2a.utils import errors
from a2a.utils.constants import VERSION_HEADER
from a2a.utils.error_handlers import build_rest_error_payload
from sse_starlette.event import ensure_bytes
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from synapse.base.digest import sha256_hex
from synapse.server.about import CARD, REST, About
from synapse.server.event_stream import EventStream, gone
from synapse.server.push import PushSender
from synapse.server.standard.card import EXTENSIONS, agent_card, card_document
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.streams import RestStreams, RpcDispatcher
from synapse.server.standard.v03 import JsonRpc03, Rest03
from synapse.tasks.engine import TaskEngine

VERSIONS = ("1.0", "0.3")
OLD_EXTENSION_HEADER = "X-A2A-Extensions"
DEPTH = 500  # brackets; as many may be too deep to be read
CACHE = "public, max-age=60"  # an agent's name and directory live as long as the agent
_JSON = ("application/json", "application/a2a+json")
_STATES = frozenset(TaskState.keys())

Endpoint = Callable[[Request], Awaitable[Response]]
Refuse = Callable[[errors.A2AError, bytes], Response]


def standard_routes(
    engine: TaskEngine,
    about: About,
    push: PushSender | None = None,
    *,
    strict: bool = False,
    token_set: bool = False,
    handler: RequestHandler | None = None,
) -> list[BaseRoute]:
    """To be put behind the other dialect's routes. `strict` is for the conformance kit, which has an older
    text of the standard: no word of 0.3 in the card, HTTP+JSON as application/json, 415 for a wrong type."""
    if handler is None:
        extended = functools.partial(agent_card, about, strict=strict, token_set=True, full=True)
        handler = A2AHandler(engine, push, extended if token_set else None)
    rpc = RpcDispatcher(handler, enable_v0_3_compat=True)
    rpc._v03_adapter = JsonRpc03(handler)
    streams = {REST + path: endpoint for path, endpoint in RestStreams(handler).endpoints().items()}
    rest = [route for route in create_rest_routes(handler, path_prefix=REST) if isinstance(route, Route)]
    old = [
        Route(REST + path, endpoint, methods=[method])
        for (path, method), endpoint in Rest03(handler).routes().items()
    ]
    refuse = _refuse_rest_strictly if strict else _refuse_rest
    return [
        Route(CARD, _card(about, strict, token_set), methods=["GET"]),
        Route("/", _Door(rpc.handle_requests, _refuse_rpc, strict).serve, methods=["POST"]),
        *(
            Route(route.path, _Door(endpoint, refuse, strict).serve, methods=list(route.methods or ()))
            for route in (*old, *rest)
            for endpoint in (streams.get(route.path, route.endpoint),)
        ),
    ]


def _card(about: About, strict: bool, token_set: bool) -> Endpoint:
    since = formatdate(usegmt=True)

    async def card(request: Request) -> Response:
        url = str(request.base_url) if "host" in request.headers else about.url
        document = card_document(agent_card(about, url, strict=strict, token_set=token_set), strict)
        tag = f'"{sha256_hex(json.dumps(document, sort_keys=True))[:32]}"'
        headers = {"ETag": tag, "Cache-Control": CACHE, "Last-Modified": since, "Vary": "Host"}
        asked = request.headers.get("if-none-match", "").split(",")
        known = {one.strip().removeprefix("W/") for one in asked}
        if tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        return JSONResponse(document, headers=headers)

    return card


class _Door:
    """What every request passes: version, content type, extensions; and its client may leave."""

    def __init__(self, endpoint: Endpoint, refuse: Refuse, strict: bool) -> None:
        self._endpoint = endpoint
        self._refuse = refuse
        self._strict = strict

    async def serve(self, request: Request) -> Response:
        body = await request.body()
        try:
            _negotiate(request)
            _check_body(request, body)
            response = await self._answer(request)
        except errors.A2AError as error:
            response = self._refuse(error, body)
        if isinstance(response, EventSourceResponse):
            response = EventStream(_encoded(response.body_iterator))
        elif response.status_code == 400 and b"CONTENT_TYPE_NOT_SUPPORTED" in response.body:
            response = self._refuse(errors.ContentTypeNotSupportedError(_message(response)), body)
        elif self._strict and response.headers.get("content-type") == _JSON[1]:
            response.headers["content-type"] = _JSON[0]
        _activate(request, response)
        return response

    async def _answer(self, request: Request) -> Response:
        work = asyncio.ensure_future(self._endpoint(request))
        leaving = asyncio.ensure_future(gone(request.receive))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else Response(status_code=499)
        finally:
            leaving.cancel()
            work.cancel()


def _negotiate(request: Request) -> None:
    """The version, from header or query. The SDK looks only at the header."""
    said = request.headers.get(VERSION_HEADER) or request.query_params.get(VERSION_HEADER) or VERSIONS[-1]
    version = ".".join(said.strip().split(".")[:2])
    if version not in VERSIONS:
        raise errors.VersionNotSupportedError(
            f"version {said} is not spoken here: use {' or '.join(VERSIONS)}.",
            {"supported": ",".join(VERSIONS)},
        )
    name = VERSION_HEADER.lower().encode()
    others = [header for header in request.scope["headers"] if header[0] != name]
    request.scope["headers"] = [*others, (name, version.encode())]
    if hasattr(request, "_headers"):
        del request._headers  # made from the scope, and kept


def _check_body(request: Request, body: bytes) -> None:
    status = request.query_params.get("status")
    if body:
        kind = request.headers.get("content-type", _JSON[0]).partition(";")[0].strip().lower()
        if kind not in _JSON:
            raise errors.ContentTypeNotSupportedError(f"{kind} is not taken here: send JSON.")
        if not body.isascii():
            try:
                body.decode()
            except UnicodeDecodeError as error:
                raise errors.JSONParseError(f"the body is not UTF-8: {error}.") from error
        if body.count(b"[") + body.count(b"{") > DEPTH:
            try:
                json.loads(body)
            except RecursionError as error:
                raise errors.JSONParseError("the body is nested too deeply.") from error
            except ValueError:
                pass  # for the SDK to say
        if b"ListTasks" in body:
            params = _parsed(body).get("params")
            status = params.get("status") if isinstance(params, dict) else None
    # Protobuf takes an unknown name for "any", and would list what was not asked for.
    if isinstance(status, str) and status and status not in _STATES:
        raise errors.InvalidParamsError(f"status {status!r} is none of the standard's states.")


def _activate(request: Request, response: Response) -> None:
    """Say which of the extensions that were asked for are on: all that there are."""
    for header in (HTTP_EXTENSION_HEADER, OLD_EXTENSION_HEADER):
        asked = get_requested_extensions(request.headers.getlist(header))
        if active := [uri for uri in EXTENSIONS if uri in asked]:
            response.headers[header] = ", ".join(active)


async def _encoded(items: AsyncIterable[Any]) -> AsyncGenerator[bytes, None]:
    try:
        async for item in items:
            yield ensure_bytes(item, "\n")
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


# --- refusals ----------------------------------------------------------------------------------------------


def _refuse_rpc(error: errors.A2AError, body: bytes) -> Response:
    asked = _parsed(body).get("id")
    known = asked if isinstance(asked, (str, int)) and not isinstance(asked, bool) else None
    status = 415 if isinstance(error, errors.ContentTypeNotSupportedError) else 200
    said = RpcParseError(message=error.message) if isinstance(error, errors.JSONParseError) else error
    return JSONResponse(build_error_response(known, said), status_code=status)


def _refuse_rest(error: errors.A2AError, body: bytes, status: int = 0) -> Response:
    if isinstance(error, errors.JSONParseError):
        error = errors.InvalidRequestError(error.message)
    payload = build_rest_error_payload(error)
    if status:
        payload["error"]["code"] = status
    return JSONResponse(payload, status_code=payload["error"]["code"])


def _refuse_rest_strictly(error: errors.A2AError, body: bytes) -> Response:
    return _refuse_rest(error, body, 415 if isinstance(error, errors.ContentTypeNotSupportedError) else 0)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _message(response: Response) -> str:
    return str(json.loads(bytes(response.body))["error"]["message"])
