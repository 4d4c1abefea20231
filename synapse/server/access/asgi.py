"""The server's side of a request: the types, and how one is refused."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

LINGER_SECONDS = 1.0
LINGER_BYTES = 16 * 1024 * 1024
POLICY_VIOLATION = 1008  # of a WebSocket


def has_body(scope: Scope) -> bool:
    """Whether the headers announce a body."""
    for name, value in scope["headers"]:
        if name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0 ")):
            return True
    return False


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, sentence: str, *headers: Header
) -> None:
    """Answer with a sentence instead of the app. The body is not read, and the connection closed after it."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": sentence})
        return
    body = json.dumps({"detail": sentence}).encode()
    unread = has_body(scope)
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    if unread:
        head.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body, "more_body": unread})
    if unread:
        await _linger(receive)
        await send({"type": "http.response.body", "body": b""})


async def _linger(receive: Receive) -> None:
    """Closing with something unread resets the connection, and the client would never see the answer."""
    left = LINGER_BYTES
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while left > 0:
                message = await receive()
                if not message.get("more_body"):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        pass
