"""A response that goes on: server-sent events, a sign of life in silence, an end when the client has left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PING = 15.0  # seconds of silence


class EventStream(Response):
    """`chunks` are whole events, as bytes. They are closed when nobody reads them any more."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[bytes, None], ping: float = PING) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._chunks = chunks
        self._ping = ping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send_all(send))
        leaving = asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            results = await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._chunks.aclose()
        if isinstance(results[0], Exception) and not isinstance(results[0], OSError):
            raise results[0]

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        waking: asyncio.Task[None] | None = None
        timer: asyncio.TimerHandle | None = None

        def wake() -> None:
            nonlocal timer, waking
            timer = loop.call_later(self._ping, wake)
            stuck = waking is not None and not waking.done()  # it has not even read the last ping
            if not stuck and loop.time() - last >= self._ping * 0.9:
                waking = loop.create_task(_write(send, b": ping\n\n"))

        last = loop.time()
        timer = loop.call_later(self._ping, wake)
        try:
            async for chunk in self._chunks:
                await _write(send, chunk)
                last = loop.time()
        finally:
            if timer is not None:
                timer.cancel()
            if waking is not None:
                waking.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _write(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def gone(receive: Receive) -> None:
    """Until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
