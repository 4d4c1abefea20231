"""Limits for a TCP connection: how many there are, and the size and time of a request's headers."""

import asyncio
import json

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from synapse.server.access.asgi import Refusal, refuse
from synapse.server.access.peers import Peer

HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024
TOO_LONG = f"the headers are longer than the limit of {HEAD_BYTES} bytes"
CLOSE = (b"connection", b"close")
_HEAD = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """Passes its peer on (`scope["state"]["peer"]`), and closes when headers are too long or too slow.

    uvicorn's parser accepts headers of any size and waits for them without a limit.
    """

    limit = 256
    patience = HEAD_SECONDS
    _timer: asyncio.TimerHandle | None = None
    _in_headers = False  # the request's headers are not complete
    _head_bytes = 0  # bytes of headers so far

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host, port = self.server or ("", None)
        self.app_state = {**self.app_state, "peer": Peer(self.client, (host, port) if port else None)}
        if len(self.connections) > 2 * self.limit:
            transport.abort()
            return
        if len(self.connections) > self.limit:
            self.app = _busy
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_headers:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._end(431, TOO_LONG)
                return
        if self._between_requests():
            self._start_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._in_headers = False
        if sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > HEAD_BYTES:
            self.app = _too_long
        super().on_headers_complete()

    def _between_requests(self) -> bool:
        return self.cycle is None or (self.cycle.response_complete and not self.pipeline)

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.patience, self._timed_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _timed_out(self) -> None:
        self._timer = None
        if self._between_requests() and not self.transport.is_closing():
            self._end(408, f"the headers did not arrive within {self.patience:g} seconds")

    def _end(self, status: int, sentence: str) -> None:
        if not self._between_requests() or not self._in_headers:
            self.transport.abort()  # there is no request to respond to
            return
        body = json.dumps({"detail": sentence}).encode()
        self.transport.write(STATUS_LINE[status] + _HEAD % len(body) + body)
        self.transport.close()


def _refusing(*refusal: *Refusal) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await refuse(scope, receive, send, *refusal, CLOSE)

    return app


_busy = _refusing(503, "too many connections are open: try again in a moment", (b"retry-after", b"1"))
_too_long = _refusing(431, TOO_LONG)


def at_most(limit: int, patience: float = HEAD_SECONDS) -> type[Connection]:
    """A connection class that refuses requests when more than `limit` connections are open."""
    return type("Connection", (Connection,), {"limit": limit, "patience": patience})
