"""A response of server-sent events, with a comment after a silence. It ends when the client disconnects."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from typing import TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PING = 15.0  # seconds of silence
Result = TypeVar("Result")


class EventStream(Response):
    """`chunks` are whole events, as bytes. They are closed when the client disconnects."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[bytes, None], ping: float = PING) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._chunks = chunks
        self._ping = ping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_gone(receive, self._send_all(send))
        except OSError:
            pass  # the client has disconnected
        finally:
            await self._chunks.aclose()

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()

        async def ping() -> None:
            while True:
                await asyncio.sleep(self._ping)
                if loop.time() - last >= self._ping * 0.9:
                    await _write(send, b": keepalive\n\n")

        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        last = loop.time()
        pinging = loop.create_task(ping())
        try:
            async for chunk in self._chunks:
                await _write(send, chunk)
                last = loop.time()
        finally:
            pinging.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _write(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def unless_gone(receive: Receive, work: Awaitable[Result]) -> Result | None:
    """The result of `work`; None if the client disconnects first, which cancels the work."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
