"""How the access checks refuse a request."""

import asyncio
import json

from starlette.types import Receive, Scope, Send

Header = tuple[bytes, bytes]
Refusal = tuple[int, str, *tuple[Header, ...]]  # status, sentence, headers

LINGER_SECONDS = 1.0
LINGER_BYTES = 16 * 1024 * 1024
POLICY_VIOLATION = 1008  # of a WebSocket


def has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0 "))
        for name, value in scope["headers"]
    )


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, sentence: str, *headers: Header
) -> None:
    """Respond with a sentence. If the request has a body, it is not used, and the connection is closed."""
    body = json.dumps({"detail": sentence}).encode()
    if scope["type"] == "websocket":
        await _refuse_web_socket(scope, send, status, body, headers)
        return
    unread = has_body(scope)
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    if unread:
        head.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body, "more_body": unread})
    if unread:
        await _linger(receive)
        await send({"type": "http.response.body", "body": b""})


async def _refuse_web_socket(
    scope: Scope, send: Send, status: int, body: bytes, headers: tuple[Header, ...]
) -> None:
    """Respond to the handshake, so that the client learns the reason."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        return
    head = [(b"content-type", b"application/json"), *headers]
    await send({"type": "websocket.http.response.start", "status": status, "headers": head})
    await send({"type": "websocket.http.response.body", "body": body, "more_body": False})


async def _linger(receive: Receive) -> None:
    """Read on: closing with unread data resets the connection, and the client would not see the response."""
    left = LINGER_BYTES
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while left > 0 and (message := await receive()).get("more_body"):
                left -= len(message.get("body", b""))
    except TimeoutError:
        pass
