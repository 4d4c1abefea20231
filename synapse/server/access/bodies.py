"""What a request may carry: JSON, not too much of it, and not for ever."""

import asyncio

from synapse.server.access.asgi import App, Message, Receive, Scope, Send, has_body, refuse

PATIENCE = 30.0
JSON_TYPES = frozenset((b"application/json", b"application/a2a+json"))
WRITING = frozenset(("POST", "PUT", "PATCH"))


class Bodies:
    """Reads the whole body before the app is called: one that never ends never gets there."""

    def __init__(self, app: App, limit: int, patience: float = PATIENCE) -> None:
        self._app = app
        self._limit = limit
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not has_body(scope):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        length = headers.get(b"content-length")
        foreign = scope["method"] in WRITING and _media_type(headers) not in JSON_TYPES
        if length is not None and int(length) > self._limit:
            await self._refuse_long(scope, receive, send)
            return
        if length is not None and foreign:
            await self._refuse_foreign(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._patience):
                body = await self._read(receive)
        except TimeoutError:
            sentence = f"the body did not come within {self._patience:g} seconds"
            await refuse(scope, receive, send, 408, sentence)
            return
        if body is None:
            return  # gone: nobody to answer
        if len(body) > self._limit:
            await self._refuse_long(scope, receive, send)
        elif body and foreign:
            await self._refuse_foreign(scope, receive, send)
        else:
            await self._app(scope, _with_body(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """All of it, or the beginning of one that is too long, or None if the client has gone."""
        pieces, size, more = [], 0, True
        while more and size <= self._limit:
            message = await receive()
            if message["type"] != "http.request":
                return None
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            more = message.get("more_body", False)
        return b"".join(pieces)

    async def _refuse_long(self, scope: Scope, receive: Receive, send: Send) -> None:
        sentence = f"the body is longer than {self._limit} bytes, which is the limit here (limits.body)"
        await refuse(scope, receive, send, 413, sentence)

    async def _refuse_foreign(self, scope: Scope, receive: Receive, send: Send) -> None:
        sentence = "only JSON is understood: send it with Content-Type: application/json"
        await refuse(scope, receive, send, 415, sentence, (b"accept", b"application/json"))


def _media_type(headers: dict[bytes, bytes]) -> bytes:
    return headers.get(b"content-type", b"").split(b";")[0].strip().lower()


def _with_body(body: bytes, receive: Receive) -> Receive:
    told = False

    async def once() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once
