"""Who may speak to the server."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOOPBACK = (b"localhost", b"127.0.0.1", b"[::1]")


class LoopbackOnly:
    """Refuses what did not mean this machine: a page elsewhere can make a browser send requests here, but
    it cannot change their Host and Origin."""

    def __init__(self, app: App, port: int) -> None:
        self._app = app
        self._hosts = {name + suffix for name in _LOOPBACK for suffix in (b"", b":%d" % port)}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        host, origin = headers.get(b"host", b"").lower(), headers.get(b"origin")
        if host in self._hosts and (origin is None or origin.lower() in self._origins):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            body = b'{"detail":"only requests to localhost from this machine are served"}'
            await send(
                {
                    "type": "http.response.start",
                    "status": 403,
                    "headers": [(b"content-type", b"application/json")],
                }
            )
            await send({"type": "http.response.body", "body": body})
