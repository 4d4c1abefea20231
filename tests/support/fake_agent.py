"""A remote agent that does what a test says: it answers, redirects, lies, is slow or never ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.types import Receive, Scope, Send

from tests.support.serving import serving

Handler = Callable[["Answering"], Awaitable[None]]
CARD = "/.well-known/agent-card.json"
OLD_CARD = "/.well-known/agent.json"
PROTOCOLS = [
    ("1.0", "JSONRPC", "/"),
    ("1.0", "HTTP+JSON", "/a2a"),
    ("0.3", "JSONRPC", "/"),
    ("0.3", "HTTP+JSON", "/a2a"),
]


class Answering:
    """One request, and the ways to answer it."""

    def __init__(self, scope: Scope, body: bytes, send: Send) -> None:
        self.path: str = scope["path"]
        self.headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.text = body.decode()
        is_json = self.headers.get("content-type", "").startswith("application/json")
        self.body: Any = json.loads(body) if body and is_json else None
        self.query = scope["query_string"].decode()
        self._send = send

    async def json(self, document: object, status: int = 200, **headers: str) -> None:
        await self.begin(status, "application/json", **headers)
        await self._send({"type": "http.response.body", "body": json.dumps(document).encode()})

    async def result(self, document: object) -> None:
        await self.json({"jsonrpc": "2.0", "id": self._id, "result": document})

    @property
    def _id(self) -> object:
        return self.body.get("id") if isinstance(self.body, dict) else None

    async def begin(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        said = [(b"content-type", kind.encode()), *((n.encode(), v.encode()) for n, v in headers.items())]
        await self._send({"type": "http.response.start", "status": status, "headers": said})

    async def piece(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        await asyncio.sleep(0)

    async def event(self, result: object) -> None:
        rpc = {"jsonrpc": "2.0", "id": self._id, "result": result}
        await self.piece(b"data: " + json.dumps(rpc).encode() + b"\n\n")

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})


class FakeAgent:
    """`on[path]` answers a request; other paths are 404. `seen` has every request."""

    def __init__(self) -> None:
        self.on: dict[str, Handler] = {}
        self.seen: list[Answering] = []
        self.url = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        request = Answering(scope, body, send)
        self.seen.append(request)
        handler = self.on.get(request.path)
        if handler is None:
            await request.json({"error": "nothing here"}, 404)
            return
        answering, leaving = asyncio.ensure_future(handler(request)), asyncio.ensure_future(receive())
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if answering.done():
            answering.result()
        answering.cancel()  # the client has disconnected

    def card(self, document: object = None, path: str = CARD, **more: Any) -> None:
        """Serve a card, by default one for A2A 1.0 over JSON-RPC."""
        offered = {"url": f"{self.url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        usual = {"name": "Weather", "capabilities": {"streaming": True}, "supportedInterfaces": [offered]}
        found = {**usual, **more} if document is None else document

        async def answer(request: Answering) -> None:
            await request.json(found)

        self.on[path] = answer

    def calls(self, path: str) -> list[Answering]:
        return [request for request in self.seen if request.path == path]


@contextmanager
def fake_agent() -> Iterator[FakeAgent]:
    fake = FakeAgent()
    with serving(fake) as port:
        fake.url = f"http://127.0.0.1:{port}"
        yield fake


async def never(request: Answering) -> None:
    await asyncio.sleep(3600)


def says(text: str, state: str = "TASK_STATE_COMPLETED") -> dict[str, Any]:
    artifact = {"artifactId": "reply", "parts": [{"text": text}]}
    return {"task": {"id": "t1", "contextId": "c", "status": {"state": state}, "artifacts": [artifact]}}
