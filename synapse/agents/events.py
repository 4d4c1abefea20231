"""The receiving end of the hook program: one event a connection."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any

logger = logging.getLogger(__name__)

EVENT_LIMIT = 64 * 1024 * 1024
PATIENCE = 5.0


class EventReceiver:
    """Takes events in the order in which their connections came."""

    def __init__(self, listener: socket.socket, take: Callable[[Mapping[str, Any]], None]) -> None:
        self._listener = listener
        self._take = take

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_unix_server(self._on_connection, sock=self._listener)

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            data = await asyncio.wait_for(_read_all(reader), PATIENCE)
            kind, _, body = data.partition(b"\n")
            event = json.loads(body)
            if isinstance(event, dict):
                self._take({**event, "synapse_channel": kind.decode("ascii", "replace")})
        except (ValueError, RecursionError, TimeoutError, OSError) as error:
            logger.warning("an event that makes no sense was left out: %s", error)
        finally:
            writer.close()


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while chunk := await reader.read(1 << 16):
        data += chunk
        if len(data) > EVENT_LIMIT:
            raise ValueError("it is too long")
    return bytes(data)
