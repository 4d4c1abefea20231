"""One TCP connection, before there is a request."""

import asyncio
import json

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from synapse.server.access.asgi import Receive, Scope, Send, refuse
from synapse.server.access.peers import Peer

HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024
TOO_LONG = f"the headers are longer than {HEAD_BYTES} bytes, which is the limit"
BUSY = "too many connections are open: try again in a moment"


class Connection(HttpToolsProtocol):
    """Knows its peer (`scope["state"]["peer"]`), and ends when headers do not.

    The parser below takes headers of any size and waits for them for ever.
    """

    limit = 256
    patience = HEAD_SECONDS
    _timer: asyncio.TimerHandle | None = None
    _heading = False  # in the middle of headers
    _head = 0  # bytes of them so far

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "peer": Peer(self.client, self._server_address())}
        if len(self.connections) > 2 * self.limit:
            transport.abort()
            return
        if len(self.connections) > self.limit:
            self.app = _busy
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._heading:
            self._head += len(data)
            if self._head > HEAD_BYTES:
                self._end(431, TOO_LONG)
                return
        if self._between_requests():
            self._watch()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._heading, self._head = True, 0

    def on_headers_complete(self) -> None:
        self._rest()
        self._heading = False
        if sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > HEAD_BYTES:
            self.app = _too_long
        super().on_headers_complete()

    def _between_requests(self) -> bool:
        return self.cycle is None or (self.cycle.response_complete and not self.pipeline)

    def _server_address(self) -> tuple[str, int] | None:
        if self.server is None or self.server[1] is None:
            return None
        return self.server[0], self.server[1]

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.patience, self._late)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._between_requests() and not self.transport.is_closing():
            self._end(408, f"the headers did not come within {self.patience:g} seconds")

    def _end(self, status: int, sentence: str) -> None:
        if not self._between_requests() or not self._heading:
            self.transport.abort()  # no request that this would be the answer to
            return
        body = json.dumps({"detail": sentence}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(
            body
        )
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    await refuse(scope, receive, send, 503, BUSY, (b"retry-after", b"1"), (b"connection", b"close"))


async def _too_long(scope: Scope, receive: Receive, send: Send) -> None:
    await refuse(scope, receive, send, 431, TOO_LONG, (b"connection", b"close"))


def at_most(limit: int, patience: float = HEAD_SECONDS) -> type[Connection]:
    """Connections of which there are never many more than `limit`."""
    return type("Connection", (Connection,), {"limit": limit, "patience": patience})
