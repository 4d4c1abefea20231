"""Checks a request's body: its type is JSON, its size limited, and it arrives in time."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synapse.server.access.asgi import Refusal, has_body, refuse

PATIENCE = 30.0  # seconds for the whole body
JSON_TYPES = (b"application/json", b"application/a2a+json")
WRITING = ("POST", "PUT", "PATCH")
NOT_JSON: Refusal = (
    415, "only JSON is accepted: send Content-Type: application/json", (b"accept", b"application/json")
)  # fmt: skip


class Bodies:
    """Reads the whole body before it calls the app, so that the app never waits for one that does not end."""

    def __init__(self, app: ASGIApp, limit: int, patience: float = PATIENCE) -> None:
        self._app = app
        self._limit = limit
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not has_body(scope):
            await self._app(scope, receive, send)
            return
        found = await self._body(scope, receive)
        if isinstance(found, bytes):
            await self._app(scope, _with_body(found, receive), send)
        elif found is not None:  # None: the client has disconnected
            await refuse(scope, receive, send, *found)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | Refusal | None:
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        is_json = kind in JSON_TYPES or scope["method"] not in WRITING
        if refusal := self._refusal(int(headers.get(b"content-length", 0)), is_json):
            return refusal
        try:
            async with asyncio.timeout(self._patience):
                body = await self._read(receive)
        except TimeoutError:
            return 408, f"the body did not arrive within {self._patience:g} seconds"
        return None if body is None else self._refusal(len(body), is_json) or body

    def _refusal(self, length: int, is_json: bool) -> Refusal | None:
        if length > self._limit:
            return 413, f"the body is longer than the limit of {self._limit} bytes (limits.body)"
        return NOT_JSON if length and not is_json else None

    async def _read(self, receive: Receive) -> bytes | None:
        """The body; its beginning if it is too long; None if the client disconnects."""
        body, more = bytearray(), True
        while more and len(body) <= self._limit:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
        return bytes(body)


def _with_body(body: bytes, receive: Receive) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def once() -> Message:
        return next(messages, None) or await receive()

    return once
