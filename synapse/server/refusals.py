"""A request that is refused: the right status and one sentence, `{"detail": …, "code": …}`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from synapse.tasks.task import (
    BadMessage,
    NotAllowed,
    QueueFull,
    StoreFailed,
    TaskError,
    TaskNotFound,
    TooLarge,
    WrongState,
)

RETRY_AFTER = 5  # seconds, for a queue that is full
# The first that fits: TooLarge is a BadMessage.
_STATUS: tuple[tuple[type[TaskError], int], ...] = (
    (TaskNotFound, 404),
    (WrongState, 409),
    (TooLarge, 413),
    (BadMessage, 400),
    (QueueFull, 429),
    (NotAllowed, 403),
    (StoreFailed, 507),
)


class Refusal(BaseModel):
    detail: str = Field(description="one sentence", examples=["the message is empty: say something."])
    code: str = Field(description="the kind of it, for programs", examples=["BAD_MESSAGE"])


Responses = dict[int | str, dict[str, Any]]
_NAMED: dict[int, str] = {
    400: "not JSON, or nothing that the agent can be given",
    403: "this sender may not do that",
    404: "there is no such task",
    409: "the task is in another state",
    413: "the message is too large",
    415: "the body is not said to be JSON",
    422: "not what is asked for",
    429: "the queue is full, or agents talk too often: Retry-After says when to try again",
    502: "the other agent cannot be reached, or fails",
    503: "not served here",
    507: "the task cannot be stored",
}
TAKING = (403, 404, 409, 413, 429, 507)  # what can go wrong when a message is sent


def reading(*statuses: int) -> Responses:
    """The refusals of a route that takes no body, for the documentation."""
    return {status: {"model": Refusal, "description": _NAMED[status]} for status in sorted((*statuses, 422))}


def responses(*statuses: int) -> Responses:
    """And of one that does."""
    return reading(400, 415, *statuses)


def in_json(documented: Responses) -> Responses:
    """The same for a route whose answer is not JSON: FastAPI would say that its refusals are not either."""
    schema = {"$ref": "#/components/schemas/Refusal"}
    return {
        status: {"description": response["description"], "content": {"application/json": {"schema": schema}}}
        for status, response in documented.items()
    }


class Unavailable(TaskError):
    """What was asked for is not served here."""

    code = "UNAVAILABLE"
    status = 503


def refusal(error: TaskError, status: int | None = None) -> Response:
    if status is None:
        known = (status for kind, status in _STATUS if isinstance(error, kind))
        status = getattr(error, "status", None) or next(known, 400)
    headers = {"Retry-After": str(RETRY_AFTER)} if status == 429 else None
    return _refusal(status, str(error), error.code, headers)


def _refusal(status: int, detail: str, code: str, headers: dict[str, str] | None = None) -> Response:
    detail = detail.encode("utf-8", "replace").decode()  # half a character, sent back
    return JSONResponse({"detail": detail, "code": code}, status, headers)


class Route(APIRoute):
    """A route that refuses in sentences."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def handler(request: Request) -> Response:
            if takes_body and not _is_json(request.headers.get("content-type", "")):
                return _refusal(415, "the body must be JSON: say Content-Type: application/json.", "NOT_JSON")
            try:
                return await handle(request)
            except TaskError as error:
                return refusal(error)
            except RequestValidationError as error:
                return _invalid(error)
            except HTTPException as error:  # what FastAPI says of a body that it cannot decode
                if error.status_code != 400:
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
        missing = first["type"] == "missing"
        what = "the body is empty: send" if missing else "the body is not what is asked for: send"
        return _refusal(422, f"{what} a JSON object.", "BAD_REQUEST")
    where = ".".join(str(step) for step in first["loc"][1:])
    return _refusal(422, f"{where}: {_said(first)}.", "BAD_REQUEST")


def _said(error: dict[str, Any]) -> str:
    if error["type"] == "missing":
        return "it is missing"
    if error["type"] == "union_tag_invalid":
        return f"{error['ctx']['tag']!r} is not known here: use text, data or file"
    text = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    return text[:1].lower() + text[1:]
