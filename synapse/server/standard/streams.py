"""Streams of events. An event of version 1.0 is encoded once for all clients."""

import json
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from typing import Any

from a2a.server.context import ServerCallContext as Context
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


@shared
def _text(event: Any) -> str:
    # ASCII only: some clients end a line at other characters than a newline.
    return json.dumps(MessageToDict(to_stream_response(event)))


class RpcDispatcher(JsonRpcDispatcher):
    @validate_version(PROTOCOL_VERSION_1_0)
    async def _process_streaming_request(
        self, request_id: str | int | None, request_obj: Any, context: Context
    ) -> Any:
        subscribes = context.state["method"] == "SubscribeToTask"
        handler = self.request_handler
        begin = handler.on_subscribe_to_task if subscribes else handler.on_message_send_stream
        head = f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": '
        return await begun(
            begin(request_obj, context),
            lambda event: framed(f"{head}{_text(event)}}}"),
            lambda error: build_error_response(request_id, error),
        )

    def _create_response(self, context: Context, handler_result: Any) -> Response:
        if isinstance(handler_result, AsyncGenerator):
            return EventStream(handler_result)
        response: Response = super()._create_response(context, handler_result)
        return response


def rest_streams(handler: RequestHandler) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    contexts = DefaultServerCallContextBuilder()

    @validate_version(PROTOCOL_VERSION_1_0)
    async def stream(begin: Callable[..., Any], params: Any, context: Context) -> Response:
        return EventStream(await begun(begin(params, context), lambda event: framed(_text(event))))

    @rest_error_handler
    async def send(request: Request) -> Response:
        params = Parse(await request.body(), pb.SendMessageRequest(), ignore_unknown_fields=True)
        return await stream(handler.on_message_send_stream, params, contexts.build(request))

    @rest_error_handler
    async def subscribe(request: Request) -> Response:
        params = pb.SubscribeToTaskRequest(id=request.path_params["id"])
        return await stream(handler.on_subscribe_to_task, params, contexts.build(request))

    return {"/message:stream": send, "/tasks/{id}:subscribe": subscribe}


def framed(text: str) -> bytes:
    return b"data: " + text.encode() + b"\n\n"


async def begun(
    stream: AsyncIterable[Any],
    frame: Callable[[Any], bytes],
    failed: Callable[[errors.A2AError], Any] = build_rest_error_payload,
) -> AsyncGenerator[bytes, None]:
    """The stream as bytes. Its first event is read here, so that a refusal is not part of the stream."""
    events = aiter(stream)
    first = await anext(events)

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            yield frame(first)
            async for event in events:
                yield frame(event)
        except errors.A2AError as error:
            yield b"event: error\n" + framed(json.dumps(failed(error)))
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    return chunks()
