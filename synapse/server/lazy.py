"""Routes that are made at their first request, because what they import takes time and memory."""

from collections.abc import Awaitable, Callable

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send


class LazyRoutes(BaseRoute):
    """`serves` says for a path whether it is one of theirs; `make` makes the application that serves it."""

    def __init__(self, serves: Callable[[str], bool], make: Callable[[], Awaitable[ASGIApp]]) -> None:
        self._serves = serves
        self._make = make
        self._app: ASGIApp | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        ours = scope["type"] == "http" and self._serves(scope.get("path", ""))
        return (Match.FULL if ours else Match.NONE), {}

    async def app(self) -> ASGIApp:
        if self._app is None:
            made = await self._make()
            self._app = self._app or made  # another request may have been faster
        return self._app

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self.app())(scope, receive, send)
