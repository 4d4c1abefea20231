"""The specifications' endpoints: the HTTP interface that Synapse's own specifications describe.

It is an early form of A2A (`/tasks/send`, `/tasks/{id}`, `/message`); `server/standard` has the A2A standard.
Both work on one task engine.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from synapse.base.states import FAILED, INPUT_REQUIRED, REJECTED
from synapse.server.about import About
from synapse.server.dialect import models
from synapse.server.dialect.callbacks import KEY, Callbacks, answer
from synapse.server.dialect.external import ExternalClient, external_routes
from synapse.server.dialect.models import InputRequest, SendRequest, SimpleMessage, State, TaskEnvelope
from synapse.server.dialect.stream import events_of
from synapse.server.event_stream import EventStream, unless_gone
from synapse.server.refusals import TAKING, Responses, Route, reading, refusal, responses, with_schema
from synapse.tasks.engine import TaskEngine
from synapse.tasks.expiry import expires_in
from synapse.tasks.task import BadMessage, Json, Task, WrongState, text_message

LONGEST_WAIT = 300
LAST_NUMBER = 2**63 - 1  # that the store can hold

_QUESTION = "What is this project about?"
_PARTS = {"role": "user", "parts": [{"type": "text", "text": _QUESTION}]}
_FIGURES = {"type": "data", "data": {"p50": 12, "p99": 340}}
_DATA = {"role": "user", "parts": [{"type": "text", "text": "Explain these figures."}, _FIGURES]}
_LATER = {"content": "明日の天気は？", "priority": 1, "response_mode": "return"}
_SEND_EXAMPLES: dict[str, Any] = {
    "text": {"summary": "Text", "value": {"message": _QUESTION}},
    "parts": {
        "summary": "A message with parts",
        "value": {"message": _PARTS, "sender": {"id": "ci", "name": "ci"}},
    },
    "data": {"summary": "Text and data", "value": {"message": _DATA, "context_id": "figures"}},
}
_MESSAGE_EXAMPLES: dict[str, Any] = {
    "display": {"summary": "The reply is shown in the agent's terminal", "value": {"content": "Say hello"}},
    "return": {"summary": "The reply is fetched later", "value": _LATER},
}
_INPUT_EXAMPLES: dict[str, Any] = {"yes": {"summary": "Yes", "value": {"input": "y"}}}
_EVENT = {
    "schema": {
        "type": "object",
        "description": "one event; data is a JSON object",
        "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    },
    "example": 'id: 3\nevent: status\ndata: {"taskId": "…", "state": "working"}\n\n',
}
_STREAM: Responses = {
    200: {
        "description": "`status`, `artifact` and `receipt` events, numbered by `id`, until the task ends",
        "content": {"text/event-stream": _EVENT},
    }
}
_FINISHED: Responses = {204: {"description": "The task has finished and there are no new events."}}
_WORKING: Responses = {202: {"model": models.Canceled, "description": "the agent is still working"}}

LastEventId = Annotated[str | None, Header(description="the number of the last event that was received")]
TaskId = Annotated[str, Path(description="a task's id; its first 8 characters are enough until it has ended")]
SendBody = Annotated[SendRequest, Body(openapi_examples=_SEND_EXAMPLES)]
MessageBody = Annotated[SimpleMessage, Body(openapi_examples=_MESSAGE_EXAMPLES)]
InputBody = Annotated[InputRequest, Body(openapi_examples=_INPUT_EXAMPLES)]
Wait = Annotated[
    float,
    Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="seconds to wait until the task ends"),
]
Priority = Annotated[int, Query(ge=1, le=5, description="5 interrupts the agent")]


def dialect_routes(
    engine: TaskEngine,
    about: About,
    callbacks: Callbacks,
    external: ExternalClient | None = None,
    *,
    token_set: bool = False,
) -> APIRouter:
    """With a token set, the card, which every client may read, leaves out the agent's id and directory."""
    router = APIRouter(route_class=Route)
    # `include_router` would build every route a second time.
    for part in (_messages(engine, callbacks), _sending(engine), _tasks(engine), external_routes(external)):
        router.routes += part.routes

    @router.get("/.well-known/agent.json", response_model=models.OldCard, tags=["Card"])
    async def card() -> Response:
        """Get the agent card in its first form."""
        return JSONResponse(old_card(about, token_set))

    return router


def _messages(engine: TaskEngine, callbacks: Callbacks) -> APIRouter:
    router = APIRouter(route_class=Route, tags=["Messages"])

    @router.post("/message", response_model=models.Sent, responses=with_schema(responses(*TAKING)))
    async def message(request: MessageBody) -> Response:
        """Send the agent a message and return at once. GET /response/{request_id} returns the reply."""
        metadata: Json = {**(request.metadata or {}), "response_mode": request.response_mode}
        if request.callback_url is not None:
            await callbacks.accept(request.callback_url)
            metadata[KEY] = request.callback_url
        task = engine.submit(
            text_message(request.content),
            sender=_sender(request),
            priority=request.priority,
            metadata=metadata,
            request_id=request.request_id,
            expires=expires_in(request.metadata),
        )
        sent = {"status": "sent", "priority": task.priority, "task_id": task.id}
        if request.response_mode == "return":
            sent["response_url"] = f"/response/{task.id}"
        return JSONResponse(sent)

    @router.get("/response/{request_id}", response_model=models.Answer, responses=reading(404))
    async def response(http: Request, request_id: TaskId, wait: Wait = 0) -> Response:
        """Get the result of a message so far."""
        task = engine.find(request_id)
        if wait:
            await unless_gone(http.receive, engine.wait(task.id, timeout=wait))
        return JSONResponse(answer(task))

    return router


def _sending(engine: TaskEngine) -> APIRouter:
    router = APIRouter(prefix="/tasks", route_class=Route, tags=["Tasks"])

    async def take(request: SendRequest, priority: int = 1) -> Task:
        message, sender = request.message.neutral(), _sender(request)
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
            expires=expires_in(request.metadata, request.message.metadata),
        )

    @router.post("/send", response_model=TaskEnvelope, responses=responses(*TAKING))
    async def send(request: SendBody) -> Response:
        """Create a task. When this returns, the task is stored and in the agent's queue."""
        return JSONResponse({"task": (await take(request)).to_dict()})

    @router.post("/send-priority", response_model=TaskEnvelope, responses=responses(*TAKING))
    async def send_priority(request: SendBody, priority: Priority = 1) -> Response:
        """Create a task with a priority."""
        return JSONResponse({"task": (await take(request, priority)).to_dict()})

    @router.post(
        "/sendSubscribe", status_code=200, response_class=EventStream, responses=responses(*TAKING) | _STREAM
    )
    async def send_subscribe(request: SendBody, priority: Priority = 1) -> Response:
        """Create a task and stream its events."""
        return EventStream(events_of(engine, (await take(request, priority)).id))

    return router


def _tasks(engine: TaskEngine) -> APIRouter:
    router = APIRouter(prefix="/tasks", route_class=Route, tags=["Tasks"])

    @router.get("", response_model=models.TaskList, responses=reading())
    async def list_tasks(
        state: Annotated[list[State] | None, Query(description="only tasks in these states")] = None,
        context_id: Annotated[
            str | None, Query(max_length=200, description="only tasks of this context")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """List the tasks. The task that changed last comes first."""
        states: list[str] = list(state or ())
        if FAILED in states:
            states.append(REJECTED)
        tasks = engine.store.list_tasks(states=states, context_id=context_id, limit=limit)
        total = engine.store.count(states=states, context_id=context_id)
        return JSONResponse({"tasks": [task.to_dict() for task in tasks], "total": total})

    @router.get("/{task_id}", response_model=models.TaskDocument, responses=reading(404))
    async def get_task(task_id: TaskId) -> Response:
        """Get a task with its reply so far."""
        return JSONResponse(engine.find(task_id).to_dict())

    @router.get(
        "/{task_id}/subscribe",
        status_code=200,
        response_class=EventStream,
        responses=reading(400, 404) | _STREAM | _FINISHED,
    )
    async def subscribe(task_id: TaskId, last_event_id: LastEventId = None) -> Response:
        """Stream a task's events, from the beginning or after the last event that was received."""
        task = engine.find(task_id)
        seen = _number(last_event_id)
        if task.ended and seen == task.sequence:
            return Response(status_code=204)  # it tells a browser not to reconnect
        return EventStream(events_of(engine, task.id, seen))

    @router.post(
        "/{task_id}/input", response_model=models.InputProvided, responses=responses(403, 404, 409, 413)
    )
    async def provide_input(task_id: TaskId, request: InputBody) -> Response:
        """Answer a task's question."""
        task = engine.find(task_id)
        if task.state != INPUT_REQUIRED:
            return refusal(WrongState(f"task {task.id} is {task.state}: it does not wait for input."), 400)
        await engine.answer(task.id, request.input, _sender(request))
        return JSONResponse({"status": "input_provided", "task_id": task.id})

    @router.post("/{task_id}/cancel", response_model=models.Canceled, responses=reading(404, 409) | _WORKING)
    async def cancel(task_id: TaskId) -> Response:
        """Remove a task from the queue, or interrupt the agent if it works on it."""
        task = await engine.cancel(engine.find(task_id).id)
        document = task.to_dict()
        body = {"status": document["state"], "task_id": task.id, "task": document}
        return JSONResponse(body, 200 if task.ended else 202)

    return router


def _number(last_event_id: str | None) -> int | None:
    """None for what is no number: the client then gets everything. Raises BadMessage if it is too large."""
    if not (last_event_id and last_event_id.isascii() and last_event_id.isdecimal()):
        return None
    if len(last_event_id) > 19 or int(last_event_id) > LAST_NUMBER:
        raise BadMessage("Last-Event-ID is no number of an event: send the id of the last one received.")
    return int(last_event_id)


def _sender(request: SendRequest | SimpleMessage | InputRequest) -> Json | None:
    return request.sender.neutral() if request.sender else None


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
