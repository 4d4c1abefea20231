"""The HTTP+JSON binding of version 1.0."""

from collections.abc import Awaitable, Callable, Iterator

from a2a.utils.error_handlers import rest_error_handler
from a2a.utils.proto_utils import parse_params
from google.protobuf.json_format import Parse
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from synapse.server.event_stream import EventStream
from synapse.server.standard.handler import A2AHandler
from synapse.server.standard.operations import OPERATIONS, STREAMS, begin, context_of, document
from synapse.server.standard.streams import begun, framed, text_of

Endpoint = Callable[[Request], Awaitable[Response]]

_CONFIGS = "/tasks/{task_id}/pushNotificationConfigs"
# The names in a path are fields of the parameters.
_PATHS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("/message:send", ("POST",), "SendMessage"),
    ("/message:stream", ("POST",), "SendStreamingMessage"),
    ("/tasks/{id}:cancel", ("POST",), "CancelTask"),
    ("/tasks/{id}:subscribe", ("GET", "POST"), "SubscribeToTask"),
    ("/tasks/{id}", ("GET",), "GetTask"),
    (f"{_CONFIGS}/{{id}}", ("GET",), "GetTaskPushNotificationConfig"),
    (f"{_CONFIGS}/{{id}}", ("DELETE",), "DeleteTaskPushNotificationConfig"),
    (_CONFIGS, ("POST",), "CreateTaskPushNotificationConfig"),
    (_CONFIGS, ("GET",), "ListTaskPushNotificationConfigs"),
    ("/tasks", ("GET",), "ListTasks"),
    ("/extendedAgentCard", ("GET",), "GetExtendedAgentCard"),
)
_IN_BODY = ("SendMessage", "SendStreamingMessage", "CreateTaskPushNotificationConfig")
_IN_QUERY = ("GetTask", "ListTasks", "ListTaskPushNotificationConfigs")


class A2AResponse(JSONResponse):
    media_type = "application/a2a+json"


def rest_routes(handler: A2AHandler, prefix: str, checked: Callable[[Endpoint], Endpoint]) -> Iterator[Route]:
    for path, methods, operation in _PATHS:
        yield Route(prefix + path, checked(_endpoint(handler, operation)), methods=methods)


def _endpoint(handler: A2AHandler, operation: str) -> Endpoint:
    @rest_error_handler
    async def serve(request: Request) -> Response:
        context = context_of(operation, request)
        params = await _params(operation, request)
        work = begin(handler, operation, params, context)
        if operation in STREAMS:
            return EventStream(await begun(work, lambda event: framed(text_of(event))))
        return A2AResponse(document(params, await work) or {})

    return serve


async def _params(operation: str, request: Request) -> Message:
    params = OPERATIONS[operation][0]()
    if operation in _IN_BODY:
        Parse(await request.body(), params, ignore_unknown_fields=True)
    elif operation in _IN_QUERY:
        parse_params(request.query_params, params)
    for field, value in request.path_params.items():
        setattr(params, field, value)
    return params
