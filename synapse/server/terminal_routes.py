"""The private socket's routes to the terminal: its screen, its keys, and how Synapse reads it."""

import base64
import binascii
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from synapse.agent_terminal import AgentTerminal
from synapse.keys import names as keys
from synapse.registry import READY
from synapse.server.recording import record
from synapse.tasks.engine import TaskEngine


class Keys(BaseModel):
    keys: list[str] = Field(description="key names as in tmux, or text", max_length=10_000)


class Raw(BaseModel):
    data: str = Field(description="base64 of the bytes to type")


def terminal_routes(controller: AgentTerminal, engine: TaskEngine) -> APIRouter:
    router = APIRouter()
    for part in (_screen(controller), _keys(controller), _reasons(controller, engine)):
        router.routes += part.routes
    return router


def _screen(controller: AgentTerminal) -> APIRouter:
    router = APIRouter(prefix="/terminal")

    @router.get("/screen")
    async def screen() -> dict[str, Any]:
        model = controller.screen
        cols, rows = model.size
        return {
            "text": model.text(),
            "ansi": model.ansi(),
            "cols": cols,
            "rows": rows,
            "cursor": model.cursor,
            "cursor_visible": model.cursor_visible,
            "title": model.title,
            "alternate_screen": model.alternate_screen,
            "status": controller.status,
        }

    @router.get("/contents")
    async def contents() -> dict[str, list[str]]:
        return {"lines": controller.screen.contents().split("\n")}

    @router.get("/recording")
    async def recording() -> StreamingResponse:
        return StreamingResponse(record(controller), media_type="application/x-ndjson")

    return router


def _keys(controller: AgentTerminal) -> APIRouter:
    router = APIRouter(prefix="/terminal")

    @router.post("/keys")
    async def type_keys(request: Keys) -> dict[str, int]:
        data = keys.encode(request.keys, application_cursor=controller.screen.mode(1))
        controller.type_keys(data)
        return {"bytes": len(data)}

    @router.post("/raw")
    async def type_raw(request: Raw) -> dict[str, int]:
        try:
            data = base64.b64decode(request.data, validate=True)
        except binascii.Error as error:
            raise HTTPException(422, "data is not base64") from error
        controller.type_keys(data)
        return {"bytes": len(data)}

    @router.post("/interrupt")
    async def interrupt() -> dict[str, bool]:
        busy = controller.status != READY
        if busy:  # an idle agent may quit when it is interrupted
            controller.interrupt()
        return {"interrupted": busy}

    return router


def _reasons(controller: AgentTerminal, engine: TaskEngine) -> APIRouter:
    router = APIRouter()

    @router.get("/why")
    async def why() -> dict[str, Any]:
        return controller.explain()

    @router.get("/conversation")
    async def conversation() -> dict[str, Any]:
        task, conversations = engine.running, engine.conversations
        if task is None or conversations is None:
            return {}
        return {"task": task.to_dict(), "used": conversations.known(task)}

    @router.get("/turns")
    async def turns() -> dict[str, Any]:
        tracker = controller.observer.turns
        known = [*tracker.finished, *([tracker.current] if tracker.current else [])]
        return {"turns": [turn.to_dict() for turn in known]}

    return router
