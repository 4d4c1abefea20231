"""The routes of the A2A standard, loaded at the first request: its types take as long to load as the rest."""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

from synapse.base.loading import load
from synapse.server.about import CARD, REST

ROUTES = "synapse.server.standard.routes"


class LazyStandardRoutes(BaseRoute):
    """The routes that `make` returns. They come after all other routes."""

    def __init__(self, make: Callable[[], list[BaseRoute]]) -> None:
        self._make = make
        self._router: Router | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope.get("path", "")
        ours = scope["type"] == "http" and (path in ("/", CARD) or path.startswith(f"{REST}/"))
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            await load(ROUTES)
            if self._router is None:
                self._router = Router(self._make(), redirect_slashes=False)
        await self._router(scope, receive, send)
