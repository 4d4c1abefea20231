"""What `synapse view` serves: the page with its files, its WebSocket, and the entrance for a token."""

from __future__ import annotations

import mimetypes
import os
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from synapse.view.access import Access
from synapse.view.agents import Agent, Agents, Json
from synapse.view.browser import Browser
from synapse.view.runs import Runs

STATIC = os.path.join(os.path.dirname(__file__), "static")
PAGE = "index.html"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
NO_ENTRY = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Synapse</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/view.css">
<body class="closed"><main><h1>Synapse</h1><p>{}</p><p>Run <code>synapse view --url</code> and open
the address that it prints. An address can be used once, within ten minutes.</p></main>
"""
OPEN_FILES = ("view.css", "icon.svg")  # for the page without a session


class ViewApp:
    """`agents` tells every open page what has changed."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pages: set[Browser] = set()
        self.agents = Agents(self._changed)
        self.runs = Runs(self._runs_changed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._web_socket(scope, receive, send)
        elif scope["type"] == "http":
            await self._respond(scope)(scope, receive, send)

    def _changed(self, kind: str, agent: Agent, frame: Json) -> None:
        for page in self._pages:
            page.changed(kind, agent, frame)

    def _runs_changed(self) -> None:
        for page in self._pages:
            page.runs_changed()

    async def _web_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/ws" or not self._access.allows(_cookies(scope)):
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # the handshake gets 403
            return
        page = Browser(self.agents, self.runs, receive, send)
        self._pages.add(page)
        try:
            await page.run()
        finally:
            self._pages.discard(page)

    def _respond(self, scope: Scope) -> Response:
        path, allowed = scope["path"], self._access.allows(_cookies(scope))
        if scope["method"] not in ("GET", "HEAD"):
            return Response(status_code=405, headers={**HEADERS, "Allow": "GET, HEAD"})
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if path == "/" and token:
            cookie = self._access.enter(token[0])
            if cookie is not None:
                return RedirectResponse("/", 303, {**HEADERS, "Set-Cookie": cookie})
            if not allowed:
                return self._closed("This address has been used already, or is too old.")
            return RedirectResponse("/", 303, HEADERS)
        if not allowed and path.removeprefix("/") not in OPEN_FILES:
            return self._closed("This browser has not been let in yet.")
        return _file(path.removeprefix("/") or PAGE)

    def _closed(self, why: str) -> Response:
        return HTMLResponse(NO_ENTRY.format(why), 403, HEADERS)


def _file(name: str) -> Response:
    """A file of the page, which is small and read each time."""
    if name not in os.listdir(STATIC):
        return JSONResponse({"detail": "there is no such page."}, 404, HEADERS)
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    with open(os.path.join(STATIC, name), "rb") as file:
        return Response(file.read(), headers=HEADERS, media_type=kind)


def _cookies(scope: Scope) -> str:
    return "; ".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie")
