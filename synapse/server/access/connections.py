"""Limits for a TCP connection: how many there are, and the size and time of a request's headers."""

import asyncio
import json
from collections import Counter
from typing import Any, ClassVar

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from synapse.server.access.asgi import Refusal, refuse
from synapse.server.access.peers import Peer, is_own

HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024
SPARE = 16  # connections over the limit that are told so; more are closed at once
OTHERS = 16  # connections of users who are only told that they may not use the port
TOO_LONG = f"the headers are longer than the limit of {HEAD_BYTES} bytes"
BUSY = "too many connections are open: try again in a moment"
CLOSE = (b"connection", b"close")
_HEAD = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """Passes its peer on (`scope["state"]["peer"]`), and closes when headers are too long or too slow.

    uvicorn's parser accepts headers of any size and waits for them without a limit.
    """

    limit = 256
    limit_of_others = OTHERS
    patience = HEAD_SECONDS
    open_now: ClassVar[Counter[bool]] = Counter()  # connections, by whether they are of our own user
    _own = False
    _timer: asyncio.TimerHandle | None = None
    _in_headers = False  # the request's headers are not complete
    _head_bytes = 0  # bytes of headers so far
    _upgraded = False  # it is a WebSocket now, which has limits of its own

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host, port = self.server or ("", None)
        peer = Peer(self.client, (host, port) if port else None)
        self.app_state = {**self.app_state, "peer": peer}
        # Counted apart, so that nobody else can use up the connections of the agent's own user.
        self._own = is_own(peer.uid_at_once())
        self.open_now[self._own] += 1
        limit = self.limit if self._own else self.limit_of_others
        if self.open_now[self._own] > limit + SPARE:
            transport.abort()
            return
        if self.open_now[self._own] > limit:
            self.app = _busy
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open_now[self._own] -= 1
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._upgraded or self.transport.is_closing():
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

    def handle_websocket_upgrade(self) -> None:
        if self.app in (_busy, _too_long):
            self._respond(*((503, BUSY) if self.app is _busy else (431, TOO_LONG)))
            return
        self._upgraded = True
        super().handle_websocket_upgrade()
        # The connection belongs to another protocol object now, which is told when it ends.
        protocol: Any = self.transport.get_protocol()
        ended = protocol.connection_lost

        def lost(exc: Exception | None) -> None:
            self.open_now[self._own] -= 1
            ended(exc)

        protocol.connection_lost = lost

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
        self._respond(status, sentence)

    def _respond(self, status: int, sentence: str) -> None:
        body = json.dumps({"detail": sentence}).encode()
        self.transport.write(STATUS_LINE[status] + _HEAD % len(body) + body)
        self.transport.close()


def _refusing(*refusal: *Refusal) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await refuse(scope, receive, send, *refusal, CLOSE)

    return app


_busy = _refusing(503, BUSY, (b"retry-after", b"1"))
_too_long = _refusing(431, TOO_LONG)


def at_most(
    limit: int, patience: float = HEAD_SECONDS, *, limit_of_others: int | None = None
) -> type[Connection]:
    """A connection class that refuses requests when more than `limit` connections of the agent's own user, or
    of all others together, are open."""
    others = min(limit, OTHERS) if limit_of_others is None else limit_of_others
    fields = {"limit": limit, "limit_of_others": others, "patience": patience, "open_now": Counter()}
    return type("Connection", (Connection,), fields)
