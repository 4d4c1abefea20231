"""The routes of the A2A standard: the card, JSON-RPC at `/`, HTTP+JSON under `/a2a`; versions 1.0 and 0.3."""

import functools
import json
import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine
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
from synapse.server.event_stream import EventStream, unless_gone
from synapse.server.push import PushSender
from synapse.server.standard.card import EXTENSIONS, agent_card, card_document
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.streams import RpcDispatcher, rest_streams
from synapse.server.standard.v03 import JsonRpc03, Rest03
from synapse.tasks.engine import TaskEngine

VERSIONS = ("1.0", "0.3")
OLD_EXTENSION_HEADER = "X-A2A-Extensions"
DEPTH = 500  # brackets; with more, the body may be nested too deeply for the parser
CACHE = "public, max-age=60"  # the card changes only with the agent
_JSON = ("application/json", "application/a2a+json")
_STATES = frozenset(TaskState.keys())

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]
Refuse = Callable[[errors.A2AError, bytes], Response]


def standard_routes(
    engine: TaskEngine,
    about: About,
    push: PushSender,
    *,
    strict: bool = False,
    token_set: bool = False,
    handler: RequestHandler | None = None,
) -> list[BaseRoute]:
    """They come after the routes of the specifications' endpoints. `strict` is for the conformance kit, which
    has an older text of the standard: no 0.3 in the card, HTTP+JSON as application/json, 415 for other types.
    """
    if handler is None:
        extended = functools.partial(agent_card, about, strict=strict, token_set=True, full=True)
        handler = A2AHandler(engine, push, extended if token_set else None)
    rpc = RpcDispatcher(handler, enable_v0_3_compat=True)
    rpc._v03_adapter = JsonRpc03(handler)
    streams = rest_streams(handler)
    rest = [
        (route.path, list(route.methods or ()), streams.get(route.path, route.endpoint))
        for route in create_rest_routes(handler)
        if isinstance(route, Route)
    ]
    old = [(path, [method], endpoint) for (path, method), endpoint in Rest03(handler).routes().items()]
    refuse = functools.partial(_refuse_rest, strict=strict)
    return [
        Route(CARD, _card(about, strict, token_set), methods=["GET"]),
        Route("/", _checked(rpc.handle_requests, _refuse_rpc, strict), methods=["POST"]),
        *(
            Route(REST + path, _checked(endpoint, refuse, strict), methods=methods)
            for path, methods, endpoint in (*old, *rest)
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
        if {tag, "*"} & {one.strip().removeprefix("W/") for one in asked}:
            return Response(status_code=304, headers=headers)
        return JSONResponse(document, headers=headers)

    return card


def _checked(endpoint: Endpoint, refuse: Refuse, strict: bool) -> Endpoint:
    """The SDK's endpoint behind our checks of version, content type and extensions."""

    async def serve(request: Request) -> Response:
        body = await request.body()
        try:
            _negotiate(request)
            _check_body(request, body)
            response = await unless_gone(request.receive, endpoint(request)) or Response(status_code=499)
        except errors.A2AError as error:
            response = refuse(error, body)
        if isinstance(response, EventSourceResponse):
            response = EventStream(_encoded(response.body_iterator))
        elif response.status_code == 400 and b"CONTENT_TYPE_NOT_SUPPORTED" in response.body:
            sentence = _parsed(bytes(response.body))["error"]["message"]
            response = refuse(errors.ContentTypeNotSupportedError(sentence), body)
        elif strict and response.headers.get("content-type") == _JSON[1]:
            response.headers["content-type"] = _JSON[0]
        # All extensions that there are are always active: confirm those that the client asked for.
        for header in (HTTP_EXTENSION_HEADER, OLD_EXTENSION_HEADER):
            asked = get_requested_extensions(request.headers.getlist(header))
            if active := [uri for uri in EXTENSIONS if uri in asked]:
                response.headers[header] = ", ".join(active)
        return response

    return serve


def _negotiate(request: Request) -> None:
    """Read the version from header or query, and set the header, which is all that the SDK reads."""
    said = request.headers.get(VERSION_HEADER) or request.query_params.get(VERSION_HEADER) or VERSIONS[-1]
    version = ".".join(said.strip().split(".")[:2])
    if version not in VERSIONS:
        raise errors.VersionNotSupportedError(
            f"version {said} is not supported: use {' or '.join(VERSIONS)}.",
            {"supported": ",".join(VERSIONS)},
        )
    name = VERSION_HEADER.lower().encode()
    others = [header for header in request.scope["headers"] if header[0] != name]
    request.scope["headers"] = [*others, (name, version.encode())]
    if hasattr(request, "_headers"):
        del request._headers  # a cached copy of the scope's


def _check_body(request: Request, body: bytes) -> None:
    status = request.query_params.get("status")
    if body:
        kind = request.headers.get("content-type", _JSON[0]).partition(";")[0].strip().lower()
        if kind not in _JSON:
            raise errors.ContentTypeNotSupportedError(f"{kind} is not accepted: send JSON.")
        try:
            body.decode()
            if body.count(b"[") + body.count(b"{") > DEPTH:
                json.loads(body)
        except UnicodeDecodeError as error:
            raise errors.JSONParseError(f"the body is not UTF-8: {error}.") from error
        except RecursionError as error:
            raise errors.JSONParseError("the body is nested too deeply.") from error
        except ValueError:
            pass  # the SDK refuses it
        if b"ListTasks" in body:
            params = _parsed(body).get("params")
            status = params.get("status") if isinstance(params, dict) else None
    # For protobuf an unknown name means "any state": it would list tasks that were not asked for.
    if isinstance(status, str) and status and status not in _STATES:
        raise errors.InvalidParamsError(f"status {status!r} is none of the standard's states.")


async def _encoded(items: AsyncIterable[Any]) -> AsyncGenerator[bytes, None]:
    try:
        async for item in items:
            yield ensure_bytes(item, "\n")
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


def _refuse_rpc(error: errors.A2AError, body: bytes) -> Response:
    asked = _parsed(body).get("id")
    known = asked if isinstance(asked, (str, int)) and not isinstance(asked, bool) else None
    status = 415 if isinstance(error, errors.ContentTypeNotSupportedError) else 200
    said = RpcParseError(message=error.message) if isinstance(error, errors.JSONParseError) else error
    return JSONResponse(build_error_response(known, said), status_code=status)


def _refuse_rest(error: errors.A2AError, body: bytes, strict: bool) -> Response:
    if isinstance(error, errors.JSONParseError):
        error = errors.InvalidRequestError(error.message)
    payload = build_rest_error_payload(error)
    if strict and isinstance(error, errors.ContentTypeNotSupportedError):
        payload["error"]["code"] = 415
    return JSONResponse(payload, status_code=payload["error"]["code"])


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
