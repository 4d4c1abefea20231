"""An HTTP server on one listening socket, for the host and for `synapse view`."""

import socket
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import Server

PING = 20.0  # seconds between pings of a WebSocket, and for the answer to one
LARGEST_FRAME = 2 * 1024 * 1024  # bytes that a client may send in one frame of a WebSocket


def _web_socket(*arguments: Any, **named: Any) -> Any:
    """uvicorn's WebSocket protocol, imported when the first client asks for it: it takes time and memory."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    return WebSocketsSansIOProtocol(*arguments, **named)


class HttpServer(Server):
    """Serves an application on one listening socket. The host handles signals and decides when it ends."""

    def __init__(
        self,
        app: Any,
        listener: socket.socket,
        connection: type[HttpToolsProtocol] = HttpToolsProtocol,
        largest_frame: int = LARGEST_FRAME,
    ) -> None:
        config = Config(
            app,
            loop="none",
            http=connection,
            ws=cast(Any, _web_socket),
            ws_max_size=largest_frame,
            ws_ping_interval=PING,
            ws_ping_timeout=PING,
            ws_per_message_deflate=False,  # the clients are on this machine
            lifespan="off",
            log_config=None,
            log_level="warning",  # below that, uvicorn logs every start and end
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,  # any user of this machine could pretend to be another client
            timeout_graceful_shutdown=1,  # second for the requests that are being served
        )
        super().__init__(config)
        self._listener = listener

    async def open(self) -> None:
        """Serve from now on. uvicorn's `serve` would also handle signals and wake up ten times a second."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=[self._listener])

    async def close(self) -> None:
        await self.shutdown(sockets=[self._listener])
