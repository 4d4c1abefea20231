"""The route `/ws`. Its modules are loaded at the first connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from synapse.base.loading import load

if TYPE_CHECKING:
    from synapse.server.live.live import Live

MakeLive = Callable[[], "Live"]
PATH = "/ws"
NO_UPGRADE = "this is a WebSocket: connect with ws://, see docs/http.md"


class LiveRoute(BaseRoute):
    def __init__(self, live: MakeLive) -> None:
        self._live = live

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        ours = scope["type"] in ("http", "websocket") and scope.get("path") == PATH
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
            body = {"detail": NO_UPGRADE, "code": "NO_UPGRADE"}
            await JSONResponse(body, 426, headers)(scope, receive, send)
            return
        await load("synapse.server.live.viewer")
        from synapse.server.live.viewer import Viewer

        await Viewer(self._live(), receive, send).run()
