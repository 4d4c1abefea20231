"""Receives events from the hook program, one per connection.

The hook program waits until the host has written a byte: the host has then seen which process it is. Events
are taken from processes of the agent, and from others if they are about its conversation: a CLI may
continue it in a server in the background.

An agent that sends events itself keeps one connection open: the line `events`, then one event per line
(docs/profiles.md). It gets no byte.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

from synapse.agents.senders import Sender, sender_of

logger = logging.getLogger(__name__)

EVENT_LIMIT = 64 * 1024 * 1024
PATIENCE = 5.0  # seconds for a single event
MANY = b"events"
SEEN = b"\n"  # the byte that the hook program waits for

Event = Mapping[str, Any]
Take = Callable[[Event], None]
Knows = Callable[[Event], bool]


class EventListener:
    """A listener of the host. `session` is the agent's: its leader's process id. `came` is told of each
    sender. `knows`: whether an event from elsewhere is about the agent's conversation."""

    def __init__(
        self, listener: socket.socket, session: int, take: Take, came: Callable[[Sender], None], knows: Knows
    ) -> None:
        self._listener = listener
        self._session = session
        self._take = take
        self._came = came
        self._knows = knows
        self._server: asyncio.Server | None = None  # while it is open

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(self._connection, sock=self._listener)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def _connection(self) -> asyncio.Protocol:
        return _Connection(self)

    def sender(self, connection: socket.socket) -> Sender:
        sender = sender_of(connection, self._session)
        if not sender.is_refused:
            self._came(sender)
        return sender

    def refuse(self, sender: Sender) -> None:
        self._came(sender)
        logger.warning("an event was refused: %s", sender.note)

    def take(self, sender: Sender, event: Event) -> None:
        if sender.is_refused and not self._knows(event):
            self.refuse(sender)
        else:
            self._take(event)


class _Connection(asyncio.Protocol):
    """A sender that goes without reading its byte resets the connection. What it has sent counts, so this is
    no asyncio stream, which would discard it."""

    def __init__(self, listener: EventListener) -> None:
        self._listener = listener
        self._kind: bytes | None = None  # the first line, when it is complete
        self._data = bytearray()
        self._searched = 0  # how much of it has no end of a line

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.BaseTransport | None = transport
        self._socket: socket.socket = transport.get_extra_info("socket")
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._end, "it did not come in time")
        self._sender = self._listener.sender(self._socket)

    def data_received(self, data: bytes) -> None:
        if self._transport is None:
            return
        self._data += data
        try:
            self._read()
        except (ValueError, RecursionError) as error:
            self._end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is None:
            return
        try:
            if self._kind != MANY:
                self._pass_on(self._data)
            self._end()
        except (ValueError, RecursionError) as error:
            self._end(error)

    def _read(self) -> None:
        if self._kind is None and (line := self._line()) is not None:
            self._kind = line.strip()
            if self._kind == MANY and self._sender.is_refused:
                self._listener.refuse(self._sender)
                self._end()
                return
            if self._kind == MANY:
                self._timer.cancel()
            else:
                self._say_seen()
        while self._kind == MANY and (line := self._line()) is not None:
            self._pass_on(line)
        if len(self._data) > EVENT_LIMIT:
            raise ValueError("it is too long")

    def _line(self) -> bytes | None:
        end = self._data.find(b"\n", self._searched)
        self._searched = 0 if end >= 0 else len(self._data)
        if end < 0:
            return None
        line = bytes(self._data[:end])
        del self._data[: end + 1]
        return line

    def _say_seen(self) -> None:
        try:
            os.write(self._socket.fileno(), SEEN)  # the transport would end at an error, and lose the event
        except OSError:
            pass  # it has gone

    def _pass_on(self, body: bytes | bytearray) -> None:
        event = json.loads(body)
        if isinstance(event, dict):
            kind = (self._kind or b"").decode("ascii", "replace")
            self._listener.take(self._sender, {**event, "synapse_channel": kind})

    def _end(self, problem: object = None) -> None:
        self._timer.cancel()
        transport, self._transport = self._transport, None
        if problem is not None:
            logger.warning("an invalid event was left out: %s", problem)
        if transport is not None:
            transport.close()
