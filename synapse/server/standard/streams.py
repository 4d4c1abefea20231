"""Streams of version 1.0. What happens is put into words once, however many listen: they share the text."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from a2a.utils.constants import PROTOCOL_VERSION_1_0
from a2a.utils.error_handlers import build_rest_error_payload, rest_error_handler
from a2a.utils.proto_utils import to_stream_response
from a2a.utils.version_validator import validate_version
from google.protobuf.json_format import MessageToDict, Parse
from starlette.requests import Request
from starlette.responses import Response

from synapse.server.event_stream import EventStream
from synapse.server.standard.convert import shared

Frame = Callable[[str], bytes]


@shared
def _text(event: Any) -> str:
    # All of it ASCII: there are clients that take more than a newline for the end of a line.
    return json.dumps(MessageToDict(to_stream_response(event)))


class RpcDispatcher(JsonRpcDispatcher):
    @validate_version(PROTOCOL_VERSION_1_0)
    async def _process_streaming_request(
        self, request_id: str | int | None, request_obj: Any, context: ServerCallContext
    ) -> Any:
        begin = b'data: {"jsonrpc": "2.0", "id": ' + json.dumps(request_id).encode() + b', "result": '
        if context.state["method"] == "SubscribeToTask":
            stream = self.request_handler.on_subscribe_to_task(request_obj, context)
        else:
            stream = self.request_handler.on_message_send_stream(request_obj, context)

        def failed(error: errors.A2AError) -> bytes:
            return b"event: error\n" + _framed(json.dumps(build_error_response(request_id, error)))

        return await _begun(stream, lambda text: begin + text.encode() + b"}\n\n", failed)

    def _create_response(self, context: ServerCallContext, handler_result: Any) -> Response:
        if isinstance(handler_result, AsyncGenerator):
            return EventStream(handler_result)
        response: Response = super()._create_response(context, handler_result)
        return response


class RestStreams:
    """The two streams of the HTTP+JSON binding."""

    def __init__(self, handler: RequestHandler) -> None:
        self._handler = handler
        self._contexts = DefaultServerCallContextBuilder()

    def endpoints(self) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        return {"/message:stream": self.send, "/tasks/{id}:subscribe": self.subscribe}

    @rest_error_handler
    async def send(self, request: Request) -> Response:
        params = Parse(await request.body(), pb.SendMessageRequest(), ignore_unknown_fields=True)
        return await self._stream(self._handler.on_message_send_stream, params, self._contexts.build(request))

    @rest_error_handler
    async def subscribe(self, request: Request) -> Response:
        params = pb.SubscribeToTaskRequest(id=request.path_params["id"])
        return await self._stream(self._handler.on_subscribe_to_task, params, self._contexts.build(request))

    @validate_version(PROTOCOL_VERSION_1_0)
    async def _stream(self, begin: Callable[..., Any], params: Any, context: ServerCallContext) -> Response:
        def failed(error: errors.A2AError) -> bytes:
            return b"event: error\n" + _framed(json.dumps(build_rest_error_payload(error)))

        return EventStream(await _begun(begin(params, context), _framed, failed))


def _framed(text: str) -> bytes:
    return b"data: " + text.encode() + b"\n\n"


async def _begun(
    stream: AsyncGenerator[Any, None], frame: Frame, failed: Callable[[errors.A2AError], bytes]
) -> AsyncGenerator[bytes, None]:
    """The stream as bytes, its first event already there: what is refused is refused before it begins."""
    first = await anext(stream)

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            yield frame(_text(first))
            async for event in stream:
                yield frame(_text(event))
        except errors.A2AError as error:
            yield failed(error)
        finally:
            await stream.aclose()

    return chunks()
