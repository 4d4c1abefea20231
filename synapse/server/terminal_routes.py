"""The terminal itself over the private socket: what it shows, and keys to type."""

import base64
import binascii

from fastapi import APIRouter, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from synapse.agent_terminal import AgentTerminal
from synapse.keys import names as keys
from synapse.registry import READY
from synapse.server.recording import record


class Keys(BaseModel):
    keys: list[str] = Field(description="key names as tmux has them, or text", max_length=10_000)


class Raw(BaseModel):
    data: str = Field(description="base64 of the bytes to type")


class Typed(BaseModel):
    bytes: int


class Interrupted(BaseModel):
    interrupted: bool


class ScreenModel(BaseModel):
    text: str
    ansi: str
    cols: int
    rows: int
    cursor: tuple[int, int]
    cursor_visible: bool
    title: str
    alternate_screen: bool
    status: str


class Contents(BaseModel):
    lines: list[str]


def terminal_routes(controller: AgentTerminal) -> APIRouter:
    router = APIRouter(prefix="/terminal")

    @router.get("/screen")
    async def screen() -> ScreenModel:
        model = controller.screen
        cols, rows = model.size
        return ScreenModel(
            text=model.text(),
            ansi=model.ansi(),
            cols=cols,
            rows=rows,
            cursor=model.cursor,
            cursor_visible=model.cursor_visible,
            title=model.title,
            alternate_screen=model.alternate_screen,
            status=controller.status,
        )

    @router.get("/contents")
    async def contents() -> Contents:
        return Contents(lines=controller.screen.contents().split("\n"))

    @router.post("/keys")
    async def type_keys(request: Keys) -> Typed:
        data = keys.encode(request.keys, application_cursor=controller.screen.mode(1))
        controller.type_keys(data)
        return Typed(bytes=len(data))

    @router.post("/raw")
    async def type_raw(request: Raw) -> Typed:
        try:
            data = base64.b64decode(request.data, validate=True)
        except binascii.Error as error:
            raise HTTPException(422, "data is not base64") from error
        controller.type_keys(data)
        return Typed(bytes=len(data))

    @router.post("/interrupt")
    async def interrupt() -> Interrupted:
        busy = controller.status != READY
        if busy:  # an idle agent may take it for an order to quit
            controller.interrupt()
        return Interrupted(interrupted=busy)

    @router.get("/recording")
    async def recording() -> StreamingResponse:
        return StreamingResponse(record(controller), media_type="application/x-ndjson")

    return router
