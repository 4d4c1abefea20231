"""The host's end of the socket to its relay."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from synapse.relay import wire

BULK = 64 * 1024  # bytes: output that came in this much at once is passed on in one piece

TakeFrame = Callable[[int, bytes], None]


class RelayWire(asyncio.Protocol):
    """`meet` is given the relay's hello and returns what takes the frames after it; `ended` is called once.

    Not `add_reader`: libuv gives up on a socket that reports an error, without a word, and one whose peer has
    died with something unread does report one."""

    def __init__(
        self, meet: Callable[[dict[str, Any], RelayWire], TakeFrame], ended: Callable[[], None]
    ) -> None:
        self._meet = meet
        self._ended = ended
        self._is_open = True
        self._unpacker = wire.Unpacker()
        self._take: TakeFrame = self._hello
        self._write: Callable[[bytes], None] = lambda _: None

    def send(self, frame: bytes) -> None:
        self._write(frame)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast(asyncio.WriteTransport, transport).write  # uvloop's class is no subclass of it

    def data_received(self, data: bytes) -> None:
        frames = self._unpacker.feed(data)
        for kind, payload in wire.joined(frames) if len(data) >= BULK else frames:
            self._take(kind, payload)

    def eof_received(self) -> None:
        self._end()  # a step before `connection_lost`, which comes alone after an error

    def connection_lost(self, _: Exception | None) -> None:
        self._end()

    def _hello(self, kind: int, payload: bytes) -> None:
        if kind != wire.HELLO:
            raise ValueError(f"the relay's first frame is {kind}, not a hello")
        self._take = self._meet(json.loads(payload), self)

    def _end(self) -> None:
        if self._is_open:
            self._is_open = False
            self._ended()
