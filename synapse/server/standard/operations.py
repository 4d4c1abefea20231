"""The operations of version 1.0, the same in both HTTP bindings: parameters, context, result as JSON.

The SDK's own routes import everything that an agent written with the SDK may need, which is 9 MB of memory in
each host. These need only its types.
"""

from typing import Any, NamedTuple

from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from starlette.requests import Request

from synapse.server.standard.handler import A2AHandler, Context, protocol_version
from synapse.tasks.task import Json

# For each operation: the type of its parameters, and the handler's method.
OPERATIONS: dict[str, tuple[type[Message], str]] = {
    "SendMessage": (pb.SendMessageRequest, "on_message_send"),
    "SendStreamingMessage": (pb.SendMessageRequest, "on_message_send_stream"),
    "GetTask": (pb.GetTaskRequest, "on_get_task"),
    "ListTasks": (pb.ListTasksRequest, "on_list_tasks"),
    "CancelTask": (pb.CancelTaskRequest, "on_cancel_task"),
    "SubscribeToTask": (pb.SubscribeToTaskRequest, "on_subscribe_to_task"),
    "CreateTaskPushNotificationConfig": (
        pb.TaskPushNotificationConfig,
        "on_create_task_push_notification_config",
    ),
    "GetTaskPushNotificationConfig": (
        pb.GetTaskPushNotificationConfigRequest,
        "on_get_task_push_notification_config",
    ),
    "ListTaskPushNotificationConfigs": (
        pb.ListTaskPushNotificationConfigsRequest,
        "on_list_task_push_notification_configs",
    ),
    "DeleteTaskPushNotificationConfig": (
        pb.DeleteTaskPushNotificationConfigRequest,
        "on_delete_task_push_notification_config",
    ),
    "GetExtendedAgentCard": (pb.GetExtendedAgentCardRequest, "on_get_extended_agent_card"),
}
STREAMS = frozenset(("SendStreamingMessage", "SubscribeToTask"))


class _Request(NamedTuple):
    state: Json


def context_of(operation: str, request: Request) -> Context:
    context = _Request({"headers": dict(request.headers)})
    if protocol_version(context) != "1.0":
        raise errors.VersionNotSupportedError(
            f"{operation} is an operation of version 1.0: send the header `A2A-Version: 1.0`."
        )
    return context


def begin(handler: A2AHandler, operation: str, params: Message, context: Context) -> Any:
    """Call the handler. Returns what it returns: an awaitable, or the events of a stream."""
    return getattr(handler, OPERATIONS[operation][1])(params, context)


def document(params: Message, result: Any) -> Json | None:
    """The result of an operation that is no stream."""
    if result is None:
        return None
    if isinstance(params, pb.SendMessageRequest):
        kind = "task" if isinstance(result, pb.Task) else "message"
        return dict(MessageToDict(pb.SendMessageResponse(**{kind: result})))
    if not isinstance(params, pb.ListTasksRequest):
        return dict(MessageToDict(result))
    found = MessageToDict(result, always_print_fields_with_no_presence=True)
    if not params.include_artifacts:  # rather than an empty list, which would say that a task has none
        for task in found["tasks"]:
            task.pop("artifacts", None)
    return dict(found)
