"""Version 0.3 of the standard, served by the SDK, with these corrections.

- Invalid params, and a part of an unknown kind, are error -32602.
- Deleting a push configuration has a result, and a route in HTTP+JSON. Getting one needs no id, and setting
  one needs no authentication scheme.
- A stream that cannot begin is an error response. The update that ends a stream has `final` set.
- HTTP+JSON accepts `history_length` and `historyLength`, and a message needs a role.
"""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from typing import Any, cast

import a2a.server.routes  # noqa: F401  # before a2a.compat, which it imports and which imports it
from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as v03
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.compat.v0_3.request_handler import RequestHandler03
from a2a.compat.v0_3.rest_adapter import REST03Adapter
from a2a.server.context import ServerCallContext as Context
from a2a.server.jsonrpc_models import InvalidParamsError as InvalidParams
from a2a.server.jsonrpc_models import InvalidRequestError as InvalidRequest
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors, json_utils
from a2a.utils.error_handlers import rest_error_handler, rest_stream_error_handler
from sse_starlette.event import ensure_bytes
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from synapse.server.event_stream import EventStream
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.streams import begun, framed

_DELETE = "tasks/pushNotificationConfig/delete"
_KINDS = ("text", "file", "data")
Streamed = v03.SendStreamingMessageSuccessResponse


class Handler03(RequestHandler03):
    async def on_message_send(
        self, request: v03.SendMessageRequest, context: Context
    ) -> v03.Task | v03.Message:
        _prepare(request)
        return await super().on_message_send(request, context)

    async def on_message_send_stream(
        self, request: v03.SendMessageRequest, context: Context
    ) -> AsyncIterable[Streamed]:
        _prepare(request)
        async for response in super().on_message_send_stream(request, context):
            yield _with_final(response)

    async def on_subscribe_to_task(
        self, request: v03.TaskResubscriptionRequest, context: Context
    ) -> AsyncIterable[Streamed]:
        async for response in super().on_subscribe_to_task(request, context):
            yield _with_final(response)

    async def on_get_task_push_notification_config(
        self, request: v03.GetTaskPushNotificationConfigRequest, context: Context
    ) -> v03.TaskPushNotificationConfig:
        if isinstance(request.params, v03.GetTaskPushNotificationConfigParams):
            return await super().on_get_task_push_notification_config(request, context)
        wanted = pb.ListTaskPushNotificationConfigsRequest(task_id=request.params.id)
        found = await self.request_handler.on_list_task_push_notification_configs(wanted, context)
        if not found.configs:
            raise errors.TaskNotFoundError(f"task {request.params.id} has no push configuration.")
        return conversions.to_compat_task_push_notification_config(found.configs[0])

    async def on_create_task_push_notification_config(
        self, request: v03.SetTaskPushNotificationConfigRequest, context: Context
    ) -> v03.TaskPushNotificationConfig:
        _drop_empty(request.params.push_notification_config)
        return await super().on_create_task_push_notification_config(request, context)


def _drop_empty(config: v03.PushNotificationConfig | None) -> None:
    if config and config.authentication and not config.authentication.schemes:
        config.authentication = None


def _prepare(request: v03.SendMessageRequest) -> None:
    """Convert the message here first: files that are not base64 are found only then."""
    if request.params.configuration:
        _drop_empty(request.params.configuration.push_notification_config)
    try:
        conversions.to_core_send_message_request(request)
    except ValueError as error:
        raise errors.InvalidParamsError(f"the message cannot be read: {error}.") from error


def _with_final(response: Streamed) -> Streamed:
    update = response.result
    if isinstance(update, v03.TaskStatusUpdateEvent) and update.status.state == v03.TaskState.input_required:
        update.final = True
    return response


class JsonRpc03(JSONRPC03Adapter):
    def __init__(self, handler: A2AHandler) -> None:
        core = cast(RequestHandler, handler)  # it has all the methods
        super().__init__(core)
        self.handler = Handler03(core)

    async def answer(
        self, request_id: str | int | None, method: str, body: dict[str, Any], request: Request
    ) -> Response:
        if kind := _unknown_kind(body.get("params")):
            sentence = f"a part of kind {kind!r} is not known: use text, file or data."
            return self._generate_error_response(request_id, errors.InvalidParamsError(sentence))
        response = await self.handle_request(request_id, method, body, request)
        if isinstance(response, EventSourceResponse):
            return EventStream(_encoded(response.body_iterator))
        return response

    def _generate_error_response(self, request_id: str | int | None, error: Any) -> JSONResponse:
        # The request itself has been checked before: only its params can be invalid.
        if isinstance(error, InvalidRequest):
            error = InvalidParams(data=error.data)
        return super()._generate_error_response(request_id, error)

    async def _process_non_streaming_request(
        self, request_id: str | int | None, request_obj: Any, context: Context
    ) -> JSONResponse:
        response: JSONResponse = await super()._process_non_streaming_request(
            request_id, request_obj, context
        )
        if request_obj.method == _DELETE:
            return JSONResponse({"jsonrpc": "2.0", "id": request_id, "result": None})
        return response


def _unknown_kind(params: Any) -> object:
    """The kind of the first part that is not known: the SDK would take that part for text."""
    message = params.get("message") if isinstance(params, dict) else None
    parts = message.get("parts") if isinstance(message, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and (kind := part.get("kind", part.get("type", "text"))) not in _KINDS:
            return kind
    return None


async def _encoded(items: AsyncIterable[Any]) -> AsyncGenerator[bytes, None]:
    try:
        async for item in items:
            yield ensure_bytes(item, "\n")
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


class Rest03(REST03Adapter):
    def __init__(self, handler: A2AHandler) -> None:
        core = cast(RequestHandler, handler)
        super().__init__(core)
        self.handler.handler03 = Handler03(core)
        self._core = handler

    def routes(self) -> dict[tuple[str, str], Callable[[Request], Any]]:
        path = "/v1/tasks/{id}/pushNotificationConfigs/{push_id}"
        return {**super().routes(), (path, "DELETE"): functools.partial(self._handle_request, self._delete)}

    async def _delete(self, request: Request, context: Context) -> dict[str, Any]:
        wanted = pb.DeleteTaskPushNotificationConfigRequest(
            task_id=request.path_params["id"], id=request.path_params["push_id"]
        )
        await self._core.on_delete_task_push_notification_config(wanted, context)
        return {}

    @rest_error_handler
    async def _handle_request(
        self, method: Callable[[Request, Context], Awaitable[Any]], request: Request
    ) -> Response:
        await _check(request)
        try:
            return JSONResponse(await method(request, self._context_builder.build(request)))
        except ValueError as error:  # a historyLength that is not a number, an empty part
            raise errors.InvalidParamsError(str(error)) from error

    @rest_stream_error_handler
    async def _handle_streaming_request(
        self, method: Callable[[Request, Context], AsyncIterable[Any]], request: Request
    ) -> Response:
        await _check(request)
        stream = method(request, self._context_builder.build(request))
        try:
            return EventStream(await begun(stream, lambda item: framed(json_utils.dumps(item))))
        except ValueError as error:
            raise errors.InvalidParamsError(str(error)) from error


async def _check(request: Request) -> None:
    """Accept `history_length`, as the protocol's own files have it, and refuse a message without a role."""
    query = request.scope["query_string"]
    request.scope["query_string"] = query.replace(b"history_length=", b"historyLength=")
    if hasattr(request, "_query_params"):
        del request._query_params  # a cached copy of the scope's
    if "/message:" in request.url.path:
        try:
            body = json.loads(await request.body())
        except ValueError:
            return  # the SDK refuses it
        message = (body.get("message") or body.get("request")) if isinstance(body, dict) else None
        if isinstance(message, dict) and not message.get("role"):
            raise errors.InvalidParamsError("the message has no role: use ROLE_USER.")
