"""The host's end of the wire to its relay."""

import asyncio
from collections.abc import Callable
from typing import cast


class RelayWire(asyncio.Protocol):
    """The relay's bytes. Not `add_reader`: libuv gives up on a socket that reports an error, without a word,
    and one whose peer has died with something unread does report one."""

    def __init__(
        self,
        on_open: Callable[[asyncio.WriteTransport], None],
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._on_open = on_open
        self._on_data = on_data
        self._on_end = on_end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._on_open(cast(asyncio.WriteTransport, transport))  # uvloop's own class is no subclass of it

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def eof_received(self) -> None:
        self._on_end()  # a step before `connection_lost`, which comes alone after an error

    def connection_lost(self, _: Exception | None) -> None:
        self._on_end()
