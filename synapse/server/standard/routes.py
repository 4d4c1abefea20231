"""The routes of the A2A standard: the card, JSON-RPC at `/`, HTTP+JSON under `/a2a`; versions 1.0 and 0.3."""

import functools
import json
import re
import sys
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any

from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.types.a2a_pb2 import TaskState
from a2a.utils import errors
from a2a.utils.constants import VERSION_HEADER
from a2a.utils.error_handlers import build_rest_error_payload
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, Router

from synapse.base.digest import sha256_hex
from synapse.base.loading import load
from synapse.server.about import CARD, REST, About
from synapse.server.event_stream import unless_gone
from synapse.server.lazy import LazyRoutes
from synapse.server.push import PushSender
from synapse.server.standard.card import EXTENSIONS, agent_card, card_document
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.rest import rest_routes
from synapse.server.standard.rpc import JsonRpc, OldRpc, known_id, rpc_error
from synapse.tasks.engine import TaskEngine

VERSIONS = ("1.0", "0.3")
OLD_EXTENSION_HEADER = "X-A2A-Extensions"
DEPTH = 500  # brackets; with more, the body may be nested too deeply for the parser
CACHE = "public, max-age=60"  # the card changes only with the agent
_JSON = ("application/json", "application/a2a+json")
_STATES = frozenset(TaskState.keys())
_LONG_NUMBER = re.compile(rb"\d{309}")  # the digits of the largest double

Endpoint = Callable[[Request], Awaitable[Response]]
Refuse = Callable[[errors.A2AError, bytes], Response]


def standard_routes(
    engine: TaskEngine,
    about: About,
    push: PushSender,
    *,
    strict: bool = False,
    token_set: bool = False,
    handler: A2AHandler | None = None,
) -> list[BaseRoute]:
    """They come after the routes of the specifications' endpoints. `strict` is for the conformance kit, which
    has an older text of the standard: no 0.3 in the card, HTTP+JSON as application/json, 415 for other types.
    """
    if handler is None:
        extended = functools.partial(agent_card, about, strict=strict, token_set=True, full=True)
        handler = A2AHandler(engine, push, extended if token_set else None)
    refuse = functools.partial(_refuse_rest, strict=strict)
    checked = functools.partial(_checked, refuse=refuse, strict=strict)
    rpc = JsonRpc(handler, functools.partial(_old_rpc, handler))
    return [
        Route(CARD, _card(about, strict, token_set), methods=["GET"]),
        Route("/", _checked(rpc.handle, _refuse_rpc, strict), methods=["POST"]),
        LazyRoutes(
            lambda path: path.startswith(f"{REST}/v1/"), functools.partial(_old_rest, handler, checked)
        ),
        *rest_routes(handler, REST, checked),
    ]


async def _old_rpc(handler: A2AHandler) -> OldRpc:
    await _load_old()
    from synapse.server.standard.v03 import JsonRpc03

    return JsonRpc03(handler)


async def _old_rest(handler: A2AHandler, checked: Callable[[Endpoint], Endpoint]) -> Router:
    await _load_old()
    from synapse.server.standard.v03 import Rest03

    routes = Rest03(handler).routes().items()
    made = [Route(REST + path, checked(endpoint), methods=[method]) for (path, method), endpoint in routes]
    return Router(made, redirect_slashes=False)


async def _load_old() -> None:
    await load("synapse.server.standard.v03", without="grpc")  # 12 MB that only `grpc_port` needs


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
        if response.status_code == 400 and b"CONTENT_TYPE_NOT_SUPPORTED" in response.body:
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
            deep = body.count(b"[") + body.count(b"{") > DEPTH
            if deep or b"\\ud" in body or b"\\uD" in body or _LONG_NUMBER.search(body):
                _check_characters(json.loads(body, parse_int=_double))
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


def _double(digits: str) -> int:
    number = int(digits)
    if abs(number) > sys.float_info.max:
        raise errors.InvalidParamsError("the request holds a number that is too large for a double.")
    return number


def _check_characters(document: Any) -> None:
    """Refuse half of a surrogate pair, which no response and no file can hold."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise errors.InvalidParamsError(
            "the request holds half of a surrogate pair, which is no character: send UTF-8."
        ) from error


def _refuse_rpc(error: errors.A2AError, body: bytes) -> Response:
    status = 415 if isinstance(error, errors.ContentTypeNotSupportedError) else 200
    return JSONResponse(rpc_error(known_id(_parsed(body)), error), status_code=status)


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
