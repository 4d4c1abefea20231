"""The specifications' endpoints: the HTTP interface that Synapse's own specifications describe.

It is an early form of A2A (`/tasks/send`, `/tasks/{id}`, `/message`); `server/standard` has the A2A standard.
Both work on one task engine.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from synapse.base.states import FAILED, INPUT_REQUIRED, REJECTED
from synapse.server.about import About
from synapse.server.dialect.callbacks import KEY, Callbacks, answer
from synapse.server.dialect.external_routes import ExternalAgents, external_routes
from synapse.server.dialect.models import (
    Answer,
    Canceled,
    InputProvided,
    InputRequest,
    OldCard,
    SendRequest,
    Sent,
    SimpleMessage,
    State,
    TaskDocument,
    TaskEnvelope,
    TaskList,
)
from synapse.server.dialect.stream import events_of
from synapse.server.event_stream import EventStream, gone
from synapse.server.refusals import TAKING, Route, Unavailable, in_json, reading, refusal, responses
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, Task, WrongState, text_message

LONGEST_WAIT = 300

_TEXT = {"message": "What is this project about?"}
_PARTS = {"message": {"role": "user", "parts": [{"type": "text", "text": "What is this project about?"}]}}
_SEND_EXAMPLES: dict[str, Any] = {
    "text": {"summary": "Text", "value": _TEXT},
    "parts": {"summary": "A message with parts", "value": {**_PARTS, "sender": {"id": "ci", "name": "ci"}}},
    "data": {
        "summary": "Text and data",
        "value": {
            "message": {
                "role": "user",
                "parts": [
                    {"type": "text", "text": "Explain these figures."},
                    {"type": "data", "data": {"p50": 12, "p99": 340}},
                ],
            },
            "context_id": "figures",
        },
    },
}
_MESSAGE_EXAMPLES: dict[str, Any] = {
    "display": {"summary": "The reply is shown in the agent's terminal", "value": {"content": "Say hello"}},
    "return": {
        "summary": "The reply is fetched later",
        "value": {"content": "明日の天気は？", "priority": 1, "response_mode": "return"},
    },
}
_INPUT_EXAMPLES: dict[str, Any] = {"yes": {"summary": "Yes", "value": {"input": "y"}}}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "`status`, `artifact` and `receipt` events, numbered by `id`, until the task ends",
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "description": "one event; data is a JSON object",
                    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
                },
                "example": 'id: 3\nevent: status\ndata: {"taskId": "…", "state": "working"}\n\n',
            }
        },
    }
}

TaskId = Annotated[str, Path(description="a task's id; its first 8 characters are enough until it has ended")]
SendBody = Annotated[SendRequest, Body(openapi_examples=_SEND_EXAMPLES)]
Priority = Annotated[int, Query(ge=1, le=5, description="5 interrupts the agent")]


def dialect_routes(
    engine: TaskEngine,
    about: About,
    callbacks: Callbacks | None = None,
    external: ExternalAgents | None = None,
    *,
    token_set: bool = False,
) -> APIRouter:
    """Without `callbacks` or `external`, requests that need them are refused. With a token set, the card,
    which everybody may read, leaves out the agent's id and directory."""
    router = APIRouter(route_class=Route)
    # `include_router` would build every route a second time.
    for part in (
        _messages(engine, callbacks),
        _sending(engine),
        _tasks(engine),
        _steering(engine),
        external_routes(external),
    ):
        router.routes += part.routes

    @router.get("/.well-known/agent.json", response_model=OldCard, tags=["Card"])
    async def card() -> Response:
        """Get the agent card in its first form."""
        return JSONResponse(old_card(about, token_set))

    return router


def _messages(engine: TaskEngine, callbacks: Callbacks | None) -> APIRouter:
    router = APIRouter(route_class=Route, tags=["Messages"])

    @router.post("/message", response_model=Sent, responses=responses(*TAKING, 503))
    async def message(
        request: Annotated[SimpleMessage, Body(openapi_examples=_MESSAGE_EXAMPLES)],
    ) -> Response:
        """Send the agent a message and return at once. GET /response/{request_id} returns the reply."""
        metadata: Json = {"response_mode": request.response_mode}
        if request.callback_url is not None:
            if callbacks is None:
                raise Unavailable("this server calls no callback_url: leave it out and fetch the reply.")
            await callbacks.check(request.callback_url)
            metadata[KEY] = request.callback_url
        task = engine.submit(
            text_message(request.content),
            sender=request.sender.neutral() if request.sender else None,
            priority=request.priority,
            metadata=metadata,
            request_id=request.request_id,
        )
        sent = {"status": "sent", "priority": task.priority, "task_id": task.id}
        if request.response_mode == "return":
            sent["response_url"] = f"/response/{task.id}"
        return JSONResponse(sent)

    @router.get("/response/{request_id}", response_model=Answer, responses=reading(404))
    async def response(
        http: Request,
        request_id: TaskId,
        wait: Annotated[
            float,
            Query(
                ge=0,
                le=LONGEST_WAIT,
                allow_inf_nan=False,
                description="seconds to wait until the task ends",
            ),
        ] = 0,
    ) -> Response:
        """Get the result of a message so far."""
        task = engine.find(request_id)
        if wait:
            task = await _unless_gone(http, engine, task, wait)
        return JSONResponse(answer(task))

    return router


def _sending(engine: TaskEngine) -> APIRouter:
    router = APIRouter(prefix="/tasks", route_class=Route, tags=["Tasks"])

    async def take(request: SendRequest, priority: int = 1) -> Task:
        sender = request.sender.neutral() if request.sender else None
        message = request.message.neutral()
        if request.task_id is not None:
            task_id = engine.find(request.task_id).id
            return await engine.follow_up(task_id, message, sender=sender, context_id=request.context_id)
        return engine.submit(
            message,
            sender=sender,
            priority=priority,
            context_id=request.context_id,
            metadata=request.metadata,
            request_id=request.request_id,
        )

    @router.post("/send", response_model=TaskEnvelope, responses=responses(*TAKING))
    async def send(request: SendBody) -> Response:
        """Create a task. It is stored and in the agent's queue when this returns."""
        return JSONResponse({"task": (await take(request)).to_dict()})

    @router.post("/send-priority", response_model=TaskEnvelope, responses=responses(*TAKING))
    async def send_priority(request: SendBody, priority: Priority = 1) -> Response:
        """Create a task with a priority."""
        return JSONResponse({"task": (await take(request, priority)).to_dict()})

    @router.post(
        "/sendSubscribe",
        status_code=200,
        response_class=EventStream,
        responses=in_json(responses(*TAKING)) | _STREAM,
    )
    async def send_subscribe(request: SendBody, priority: Priority = 1) -> Response:
        """Create a task and stream its events."""
        task = await take(request, priority)
        return EventStream(events_of(engine, task.id))

    return router


def _tasks(engine: TaskEngine) -> APIRouter:
    router = APIRouter(prefix="/tasks", route_class=Route, tags=["Tasks"])

    @router.get("", response_model=TaskList, responses=reading())
    async def list_tasks(
        state: Annotated[list[State] | None, Query(description="only tasks in these states")] = None,
        context_id: Annotated[
            str | None, Query(max_length=200, description="only tasks of this context")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """List the tasks, the last changed first."""
        states: list[str] = [*(state or ()), *([REJECTED] if FAILED in (state or ()) else ())]
        tasks = engine.store.list_tasks(states=states, context_id=context_id, limit=limit)
        total = engine.store.count(states=states, context_id=context_id)
        return JSONResponse({"tasks": [task.to_dict() for task in tasks], "total": total})

    @router.get("/{task_id}", response_model=TaskDocument, responses=reading(404))
    async def get_task(task_id: TaskId) -> Response:
        """Get a task with its reply so far."""
        return JSONResponse(engine.find(task_id).to_dict())

    @router.get(
        "/{task_id}/subscribe",
        status_code=200,
        response_class=EventStream,
        responses=in_json(reading(404))
        | _STREAM
        | {204: {"description": "The task has finished and there are no new events."}},
    )
    async def subscribe(
        task_id: TaskId,
        last_event_id: Annotated[
            str | None, Header(description="the number of the last event that was received")
        ] = None,
    ) -> Response:
        """Stream a task's events, from the beginning or after the last event that was received."""
        task = engine.find(task_id)
        seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() else None
        if task.ended and seen == task.sequence:
            return Response(status_code=204)  # it tells a browser not to reconnect
        return EventStream(events_of(engine, task.id, seen))

    return router


def _steering(engine: TaskEngine) -> APIRouter:
    """Answers to, and cancellation of, a task that has not ended."""
    router = APIRouter(prefix="/tasks", route_class=Route, tags=["Tasks"])

    @router.post("/{task_id}/input", response_model=InputProvided, responses=responses(403, 404, 409, 413))
    async def provide_input(
        task_id: TaskId, request: Annotated[InputRequest, Body(openapi_examples=_INPUT_EXAMPLES)]
    ) -> Response:
        """Answer a task's question."""
        task = engine.find(task_id)
        if task.state != INPUT_REQUIRED:
            return refusal(WrongState(f"task {task.id} is {task.state}: it does not wait for input."), 400)
        await engine.answer(task.id, request.input, request.sender.neutral() if request.sender else None)
        return JSONResponse({"status": "input_provided", "task_id": task.id})

    @router.post(
        "/{task_id}/cancel",
        response_model=Canceled,
        responses=reading(404, 409) | {202: {"model": Canceled, "description": "the agent is still working"}},
    )
    async def cancel(task_id: TaskId) -> Response:
        """Remove a task from the queue, or interrupt the agent if it works on it."""
        task = await engine.cancel(engine.find(task_id).id)
        document = task.to_dict()
        body = {"status": document["state"], "task_id": task.id, "task": document}
        return JSONResponse(body, 200 if task.ended else 202)

    return router


def old_card(about: About, token_set: bool = False) -> Json:
    context: Json = {
        "name": about.name,
        "agent_type": about.agent_type,
        "message_format": "[A2A:<task_id>:<sender_id>] <message>",
        "priorities": {"1": "in turn", "2-4": "before lower ones", "5": "interrupts"},
        "endpoints": {
            "send": "/tasks/send-priority",
            "stream": "/tasks/sendSubscribe",
            "task": "/tasks/{id}",
            "input": "/tasks/{id}/input",
            "status": "/status",
        },
    }
    if not token_set:
        context |= {"agent_id": about.agent_id, "working_dir": about.working_dir}
    return {
        "name": about.name,
        "description": about.summary,
        "url": about.url,
        "version": about.version,
        "capabilities": {"streaming": True, "pushNotifications": True, "stateTransitionHistory": True},
        "authentication": {"schemes": ["bearer"] if token_set else []},
        "defaultInputModes": ["text", "data", "file"],
        "defaultOutputModes": ["text", "data"],
        "skills": [
            {
                "id": about.agent_type,
                "name": about.what,
                "description": about.summary,
                "tags": ["agent", about.agent_type],
                "examples": ["review the changes in this directory"],
            }
        ],
        "x-synapse-context": context,
    }


async def _unless_gone(http: Request, engine: TaskEngine, task: Task, seconds: float) -> Task:
    """Wait for the task until it ends or the client disconnects."""
    waiting = asyncio.ensure_future(engine.wait(task.id, timeout=seconds))
    leaving = asyncio.ensure_future(gone(http.receive))
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        leaving.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)
    return task
