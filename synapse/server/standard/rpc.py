"""The JSON-RPC binding of version 1.0; methods of version 0.3 are passed on."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from a2a.utils import errors
from a2a.utils.error_handlers import build_error_details
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from synapse.server.event_stream import EventStream
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.operations import OPERATIONS, STREAMS, begin, context_of, document
from synapse.server.standard.streams import begun, framed, text_of
from synapse.tasks.task import Json

logger = logging.getLogger(__name__)

RpcId = str | int | None
_FIELDS = {"jsonrpc", "method", "params", "id"}


class OldRpc(Protocol):
    """The methods of version 0.3."""

    def supports_method(self, method: str) -> bool: ...

    async def answer(
        self, request_id: RpcId, method: str, body: dict[str, Any], request: Request
    ) -> Response: ...


class JsonRpc:
    """`old` loads the methods of version 0.3."""

    def __init__(self, handler: A2AHandler, old: Callable[[], Awaitable[OldRpc]]) -> None:
        self._handler = handler
        self._old = old

    async def handle(self, request: Request) -> Response:
        request_id: RpcId = None
        try:
            body = _parsed(await request.body())
            request_id = known_id(body)
            _check(body)
            return await self._answer(request_id, body, request)
        except errors.A2AError as error:
            if isinstance(error, errors.InternalError):
                logger.error("a request failed: %s", error)
            return JSONResponse(rpc_error(request_id, error))
        except Exception as error:
            logger.exception("a request failed")
            return JSONResponse(rpc_error(request_id, errors.InternalError(str(error))))

    async def _answer(self, request_id: RpcId, body: Json, request: Request) -> Response:
        method = body["method"]
        if "/" in method and (old := await self._old()).supports_method(method):
            return await old.answer(request_id, method, body, request)
        if method not in OPERATIONS:
            raise errors.MethodNotFoundError(f"there is no method {method!r}.")
        context = context_of(method, request)
        params = _params(OPERATIONS[method][0], body.get("params", {}))
        work = begin(self._handler, method, params, context)
        if method not in STREAMS:
            result = document(params, await work)
            return JSONResponse({"jsonrpc": "2.0", "id": request_id, "result": result})
        head = f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": '
        return EventStream(
            await begun(
                work,
                lambda event: framed(f"{head}{text_of(event)}}}"),
                lambda error: rpc_error(request_id, error),
            )
        )


def known_id(body: Any) -> RpcId:
    """The request's id, if it may be one and can be sent back."""
    found = body.get("id") if isinstance(body, dict) else None
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        return None
    if isinstance(found, str) and found != found.encode("utf-8", "replace").decode():
        return None
    return found


def rpc_error(request_id: RpcId, error: errors.A2AError) -> Json:
    code = errors.JSON_RPC_ERROR_CODE_MAP.get(type(error), -32603)
    details = {"code": code, "message": str(error), "data": build_error_details(error)}
    return {"jsonrpc": "2.0", "id": request_id, "error": details}


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise errors.JSONParseError(f"the body is not JSON: {error}.") from error


def _check(body: Any) -> None:
    """Refuse what is no request of JSON-RPC."""
    if isinstance(body, list) and body:
        raise errors.InvalidRequestError("batches are not supported: send one request.")
    if not isinstance(body, dict):
        raise errors.InvalidRequestError("the request is no object.")
    if unknown := body.keys() - _FIELDS:
        raise errors.InvalidRequestError(f"a request has no field {sorted(unknown)[0]!r}.")
    if body.get("jsonrpc") != "2.0":
        raise errors.InvalidRequestError('jsonrpc must be "2.0".')
    method = body.get("method")
    if not isinstance(method, str) or not method or method.startswith("rpc."):
        raise errors.InvalidRequestError("method must be the name of a method.")
    if not isinstance(body.get("params"), (dict, list, type(None))):
        raise errors.InvalidRequestError("params must be an object.")
    if isinstance(body.get("id"), bool) or not isinstance(body.get("id"), (str, int, type(None))):
        raise errors.InvalidRequestError("id must be a string or an integer.")


def _params(kind: type[Message], given: Any) -> Message:
    try:
        return ParseDict(given, kind(), ignore_unknown_fields=True)
    except Exception as error:  # not only ParseError: also AttributeError for a list, and more
        raise errors.InvalidParamsError(f"the params cannot be read: {error}.") from error
