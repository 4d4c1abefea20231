"""Refused requests: a status and one sentence, `{"detail": …, "code": …}`."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import Field
from starlette.exceptions import HTTPException

from synapse.server.dialect.models import Document
from synapse.tasks import task as tasks
from synapse.tasks.task import TaskError

RETRY_AFTER = 5  # seconds, for a queue that is full
# The first that fits: TooLarge is a BadMessage. An error with a `status` of its own is not in the table.
_STATUS: tuple[tuple[type[TaskError], int], ...] = (
    (tasks.TaskNotFound, 404),
    (tasks.WrongState, 409),
    (tasks.TooLarge, 413),
    (tasks.QueueFull, 429),
    (tasks.NotAllowed, 403),
    (tasks.StoreGone, 503),
    (tasks.StoreFailed, 507),
    (tasks.AgentGone, 503),
    (TaskError, 400),
)


class Refusal(Document):
    detail: str = Field(description="one sentence", examples=["the message is empty: say something."])
    code: str = Field(description="the kind of refusal, for programs", examples=["BAD_MESSAGE"])


Responses = dict[int | str, dict[str, Any]]
_MEANING = {
    400: "the body is not JSON, or the message is not valid",
    403: "this sender may not do that",
    404: "there is no such task",
    409: "the task is in another state",
    413: "the message is too large",
    415: "the Content-Type is not JSON",
    422: "a value is missing or not valid",
    429: "the queue is full, or agents send too often: Retry-After says when to try again",
    502: "the other agent cannot be reached, or fails",
    503: "the agent is ending, or does not serve that",
    507: "the task cannot be stored",
}
TAKING = (403, 404, 409, 413, 429, 503, 507)  # what can go wrong when a message is sent


# A reference to the schema: for a model, FastAPI would make a validator for each status of each route.
_IN_JSON = {"application/json": {"schema": {"$ref": f"#/components/schemas/{Refusal.__name__}"}}}


def reading(*statuses: int) -> Responses:
    """The documentation of the refusals of a route without a body."""
    return {
        status: {"description": _MEANING[status], "content": _IN_JSON} for status in sorted((*statuses, 422))
    }


def responses(*statuses: int) -> Responses:
    """The same for a route with a body."""
    return reading(400, 415, *statuses)


def with_schema(documented: Responses) -> Responses:
    """The same with the schema that the others refer to: for one route."""
    (status, first), *others = documented.items()
    return {status: {"description": first["description"], "model": Refusal}, **dict(others)}


class Unavailable(TaskError):
    code = "UNAVAILABLE"
    status = 503


def refusal(error: TaskError, status: int | None = None) -> Response:
    status = status or getattr(error, "status", None)
    status = status or next(status for kind, status in _STATUS if isinstance(error, kind))
    return _refusal(status, str(error), error.code)


def _refusal(status: int, detail: str, code: str) -> Response:
    detail = detail.encode("utf-8", "replace").decode()  # it may quote a lone surrogate of the request
    headers = {"Retry-After": str(RETRY_AFTER)} if status == 429 else None
    return JSONResponse({"detail": detail, "code": code}, status, headers)


class Route(APIRoute):
    """A route whose errors are refusals."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def handler(request: Request) -> Response:
            if takes_body and not _is_json(request.headers.get("content-type", "")):
                return _refusal(415, "the body must be JSON: set Content-Type: application/json.", "NOT_JSON")
            try:
                return await handle(request)
            except TaskError as error:
                return refusal(error)
            except RequestValidationError as error:
                return _invalid(error)
            except HTTPException as error:
                if error.status_code != 400:  # FastAPI's status for a body that it cannot decode
                    raise
                return _refusal(400, "the body cannot be read as JSON in UTF-8.", "BAD_JSON")

        return handler


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _invalid(error: RequestValidationError) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        why = first["ctx"]["error"].removesuffix(" at")
        return _refusal(400, f"the body is not JSON: {why} at character {first['loc'][-1]}.", "BAD_JSON")
    if first["loc"] == ("body",):
        what = "empty" if first["type"] == "missing" else "not valid"
        return _refusal(422, f"the body is {what}: send a JSON object.", "BAD_REQUEST")
    where = ".".join(str(step) for step in first["loc"][1:])
    return _refusal(422, f"{where}: {_sentence(first)}.", "BAD_REQUEST")


def _sentence(error: dict[str, Any]) -> str:
    if error["type"] == "missing":
        return "it is missing"
    if error["type"] == "union_tag_invalid":
        return f"{error['ctx']['tag']!r} is not known: use text, data or file"
    text = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    return text[:1].lower() + text[1:]
