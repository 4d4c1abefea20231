"""Receives events from the hook program, one per connection.

An agent that sends events itself keeps one connection open: the line `events`, then one event per line
(docs/profiles.md).
"""

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any

logger = logging.getLogger(__name__)

EVENT_LIMIT = 64 * 1024 * 1024
PATIENCE = 5.0


class EventListener:
    """A listener of the host: it takes events in the order of their connections."""

    def __init__(self, listener: socket.socket, take: Callable[[Mapping[str, Any]], None]) -> None:
        self._listener = listener
        self._take = take
        self._server: asyncio.Server | None = None  # while it is open

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(
            self._on_connection, sock=self._listener, limit=EVENT_LIMIT
        )

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            kind = (await asyncio.wait_for(reader.readline(), PATIENCE)).strip()
            if kind == b"events":
                while line := await reader.readline():
                    self._pass_on(kind, line)
            else:
                self._pass_on(kind, await asyncio.wait_for(_read_all(reader), PATIENCE))
        except (ValueError, RecursionError, TimeoutError, OSError) as error:
            logger.warning("an invalid event was left out: %s", error)
        finally:
            writer.close()

    def _pass_on(self, kind: bytes, body: bytes) -> None:
        event = json.loads(body)
        if isinstance(event, dict):
            self._take({**event, "synapse_channel": kind.decode("ascii", "replace")})


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while chunk := await reader.read(1 << 16):
        data += chunk
        if len(data) > EVENT_LIMIT:
            raise ValueError("it is too long")
    return bytes(data)
