"""The standard's operations on the task engine: one handler for all bindings and both versions."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from fnmatch import fnmatchcase
from typing import Any, Protocol

os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")  # read when the SDK is imported

from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from a2a.utils.proto_utils import validate_proto_required_fields as require_fields
from google.protobuf.json_format import MessageToDict, ParseDict

from synapse.base.urls import UrlRefused
from synapse.event_emitter import Lagged, SSEEvent
from synapse.server.push import PushSender
from synapse.server.standard import convert
from synapse.tasks import task as tasks
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, Task, TaskError

Event = pb.Task | pb.Message | pb.TaskStatusUpdateEvent | pb.TaskArtifactUpdateEvent
Events = AsyncGenerator[Event, None]

INPUT_MODES = (
    *("text/plain", "application/json", "image/png", "image/jpeg", "application/pdf"),
    *("application/octet-stream", "*/*"),
)
# The media types of text and data. A file may have any type: the agent gets the file.
_TEXTS = ("text/*", "application/*json", "application/*xml", "application/*yaml", "application/*toml")
PAGE, LARGEST_PAGE = 50, 100


class Context(Protocol):
    """What a request says beside its parameters. The SDK's own class would import pydantic."""

    @property
    def state(self) -> Mapping[str, Any]: ...


class Unavailable(errors.InternalError):
    """The agent is ending."""


_ERRORS: tuple[tuple[type[TaskError], type[errors.A2AError]], ...] = (
    (tasks.TaskNotFound, errors.TaskNotFoundError),
    (tasks.NotCancelable, errors.TaskNotCancelableError),
    (tasks.WrongState, errors.UnsupportedOperationError),
    (tasks.LoopRefused, errors.UnsupportedOperationError),
    (tasks.OverBudget, errors.UnsupportedOperationError),
    (tasks.NotAllowed, errors.UnsupportedOperationError),
    (tasks.BadMessage, errors.InvalidParamsError),
    (tasks.AgentGone, Unavailable),
)
errors.A2A_ERROR_MAPPING[Unavailable] = errors.ErrorMapping(503, "UNAVAILABLE", tasks.AgentGone.code)


@contextmanager
def standard_errors() -> Iterator[None]:
    """Raise the engine's errors as the standard's, with the same sentence."""
    try:
        yield
    except TaskError as error:
        kind = next((there for here, there in _ERRORS if isinstance(error, here)), errors.InternalError)
        # Clients search the message for "Task not found".
        text = f"Task not found: {error}" if kind is errors.TaskNotFoundError else str(error)
        raise kind(text, {"code": error.code}) from error


class A2AHandler:
    """`extended` makes the extended card, if there is one."""

    def __init__(
        self, engine: TaskEngine, push: PushSender, extended: Callable[[], pb.AgentCard] | None = None
    ) -> None:
        self.engine = engine
        self.push = push
        self.extended = extended

    async def on_message_send(self, params: pb.SendMessageRequest, context: Context) -> pb.Task | pb.Message:
        """Wait until the task has ended or asks something. If the client disconnects, only the wait ends."""
        require_fields(params)
        task, follower = await self._accept(params, context)
        async with aclosing(follower):
            if not params.configuration.return_immediately:
                await follower.stop()
        return convert.task_to(task, _history(params.configuration))

    async def on_message_send_stream(self, params: pb.SendMessageRequest, context: Context) -> Events:
        require_fields(params)
        task, follower = await self._accept(params, context)
        async with aclosing(follower):
            follower.seen = task.sequence
            yield convert.task_to(task, _history(params.configuration))
            async for event in follower.updates():
                yield event

    async def _accept(self, params: pb.SendMessageRequest, context: Context) -> tuple[Task, _Follower]:
        """Give the message to the engine; returns its task, and a follower that misses no event of it."""
        _history(params.configuration)
        message = params.message
        task_id, context_id = message.task_id, message.context_id or None
        for part in message.parts:
            _check_media_type(part)
        with standard_errors():
            neutral = convert.message_from(message)
            priority, sender, expires = convert.options_from(params.metadata, message.metadata)
            config = None
            if params.configuration.HasField("task_push_notification_config"):
                asked = params.configuration.task_push_notification_config
                config = await self._push_config(asked, context)
            if not task_id:
                task = self.engine.submit(
                    neutral, sender=sender, priority=priority, context_id=context_id, expires=expires
                )
                follower = _Follower(self.engine, task)
            else:
                task = self.engine.store.get(task_id)
                follower = _Follower(self.engine, task)
                work = self.engine.follow_up(task_id, neutral, sender=sender, context_id=context_id)
                try:
                    # An answer is typed to its end, even if the client disconnects meanwhile.
                    await asyncio.shield(work)
                except BaseException:
                    await follower.aclose()
                    raise
        if config is not None:
            self.push.set_config(task.id, config)
        return task, follower

    async def on_get_task(self, params: pb.GetTaskRequest, context: Context) -> pb.Task:
        require_fields(params)
        history = _history(params)
        return convert.task_to(self._task(params.id), history)

    async def on_list_tasks(self, params: pb.ListTasksRequest, context: Context) -> pb.ListTasksResponse:
        """The task that changed last comes first. A page token names the last task of the previous page."""
        require_fields(params)
        history = _history(params)
        size = params.page_size if params.HasField("page_size") else PAGE
        if not 1 <= size <= LARGEST_PAGE:
            raise errors.InvalidParamsError(f"pageSize is {size}: use a number from 1 to {LARGEST_PAGE}.")
        wanted: Json = {"context_id": params.context_id or None}
        if params.status:
            wanted["states"] = (convert.state_name(params.status),)
        if params.HasField("status_timestamp_after"):
            wanted["since"] = params.status_timestamp_after.ToNanoseconds() / 1e9
        after = _from_token(params.page_token) if params.page_token else None
        found = self.engine.store.list_tasks(**wanted, after=after, limit=size + 1)
        page = found[:size]
        return pb.ListTasksResponse(
            tasks=[convert.task_to(task, history, params.include_artifacts) for task in page],
            next_page_token=_token(page[-1]) if len(found) > size else "",
            page_size=size,
            total_size=self.engine.store.count(**wanted),
        )

    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: Context) -> pb.Task:
        require_fields(params)
        with standard_errors():
            return convert.task_to(await asyncio.shield(self.engine.cancel(params.id)))

    async def on_subscribe_to_task(self, params: pb.SubscribeToTaskRequest, context: Context) -> Events:
        require_fields(params)
        task = self._task(params.id)
        if task.ended:
            raise errors.UnsupportedOperationError(f"task {task.id} is {task.state}: it has no more events.")
        follower = _Follower(self.engine, task)
        async with aclosing(follower):
            follower.seen = task.sequence
            yield convert.task_to(task)
            async for event in follower.updates():
                yield event

    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, context: Context
    ) -> pb.TaskPushNotificationConfig:
        require_fields(params)
        task = self._task(params.task_id)
        config = await self._push_config(params, context)
        return _config_to(task.id, self.push.set_config(task.id, config))

    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, context: Context
    ) -> pb.TaskPushNotificationConfig:
        require_fields(params)
        task = self._task(params.task_id)
        config = self.push.configs(task.id).get(params.id)
        if config is None:
            raise errors.TaskNotFoundError(f"task {task.id} has no push configuration {params.id!r}.")
        return _config_to(task.id, config)

    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, context: Context
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        require_fields(params)
        task = self._task(params.task_id)
        configs = [_config_to(task.id, config) for config in self.push.configs(task.id).values()]
        return pb.ListTaskPushNotificationConfigsResponse(configs=configs)

    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, context: Context
    ) -> None:
        require_fields(params)
        self.push.remove_config(self._task(params.task_id).id, params.id)

    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: Context
    ) -> pb.AgentCard:
        require_fields(params)
        if self.extended is None:
            raise errors.UnsupportedOperationError("this agent has no token, and so no extended card.")
        return self.extended()

    def _task(self, task_id: str) -> Task:
        with standard_errors():
            return self.engine.store.get(task_id)

    async def _push_config(self, config: pb.TaskPushNotificationConfig, context: Context) -> Json:
        """The configuration as it is stored, after its address and secrets are checked."""
        try:
            await self.push.check(config.url)
        except UrlRefused as error:
            raise errors.InvalidParamsError(str(error)) from error
        for secret in (config.token, config.authentication.scheme, config.authentication.credentials):
            if not (secret.isascii() and secret.isprintable()):
                raise errors.InvalidParamsError("a token or a credential has characters that headers cannot.")
        given = MessageToDict(config)
        found: Json = {"url": config.url, "version": protocol_version(context)}
        return found | {key: given[key] for key in ("id", "token", "authentication") if key in given}


class _Follower:
    """Gets every event of a task from its creation on. `seen` is the number of the reader's last event."""

    def __init__(self, engine: TaskEngine, task: Task) -> None:
        self._engine = engine
        self._task = task
        self._events = engine.subscribe(task.id)[1]
        self.seen = 0

    async def aclose(self) -> None:
        if self._events is not None:
            await self._events.aclose()

    async def stop(self) -> None:
        async for _ in self._all():
            pass

    async def updates(self) -> Events:
        """The events after `seen`, up to the end or a question; the task again if some were missed."""
        async for event in self._all():
            if event is None:
                self.seen = self._task.sequence
                yield convert.task_to(self._task)
            elif event.number > self.seen and (found := convert.event_to(event)) is not None:
                yield found

    async def _all(self) -> AsyncGenerator[SSEEvent | None, None]:
        while self._events is not None:
            try:
                async for event in self._events:
                    yield event
                    if event.event_type == "status" and event.data["state"] in convert.STOPS:
                        return
                return
            except Lagged:
                self._events = self._engine.subscribe(self._task.id)[1]
                stopped = self._task.state in convert.STOPS
                yield None
                if stopped:
                    return


def _check_media_type(part: pb.Part) -> None:
    mode = part.media_type.partition(";")[0].strip().lower()
    taken = ("?*/?*",) if part.WhichOneof("content") in ("raw", "url") else _TEXTS
    if mode and not any(fnmatchcase(mode, pattern) for pattern in taken):
        raise errors.ContentTypeNotSupportedError(
            f"{part.media_type} is not accepted: send text, JSON, or files of any type."
        )


def _history(request: Any) -> int | None:
    if not request.HasField("history_length"):
        return None
    if request.history_length < 0:
        raise errors.InvalidParamsError("historyLength is negative: 0 leaves the history out.")
    return int(request.history_length)


def _token(task: Task) -> str:
    place = json.dumps([task.updated_at, task.id])
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _from_token(token: str) -> tuple[float, str]:
    try:
        at, task_id = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return float(at), str(task_id)
    except (binascii.Error, ValueError, TypeError) as error:
        raise errors.InvalidParamsError("this pageToken is not from an earlier page.") from error


def _config_to(task_id: str, config: Json) -> pb.TaskPushNotificationConfig:
    given = {**config, "taskId": task_id}
    return ParseDict(given, pb.TaskPushNotificationConfig(), ignore_unknown_fields=True)


def protocol_version(context: Context) -> str:
    """The client's version; without a header that is 0.3."""
    return "1.0" if context.state.get("headers", {}).get("a2a-version", "").startswith("1") else "0.3"
