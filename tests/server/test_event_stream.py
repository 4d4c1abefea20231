"""A response that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

from synapse.server.event_stream import EventStream


class Wire:
    """The server's side of a request, as the response sees it."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.sent: list[bytes] = []
        self.ended = False

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            self.ended = not message["more_body"]


def test_chunks_go_out_as_they_come_and_the_end_is_told() -> None:
    async def test() -> None:
        wire = Wire()

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield b"data: 1\n\n"
            yield b"data: 2\n\n"

        await EventStream(chunks())({"type": "http"}, wire.receive, wire.send)
        assert wire.sent == [b"data: 1\n\n", b"data: 2\n\n", b""] and wire.ended

    asyncio.run(test())


def test_silence_is_broken_by_a_comment() -> None:
    async def test() -> None:
        wire = Wire()

        async def chunks() -> AsyncGenerator[bytes, None]:
            while len(wire.sent) < 2:
                await asyncio.sleep(0.005)
            yield b"data: 1\n\n"

        await EventStream(chunks(), ping=0.02)({"type": "http"}, wire.receive, wire.send)
        assert wire.sent[0] == b": keepalive\n\n" and wire.sent[-2] == b"data: 1\n\n"

    asyncio.run(test())


def test_a_reader_that_is_stuck_is_pinged_once() -> None:
    async def test() -> None:
        wire, stuck, sending = Wire(), asyncio.Event(), 0

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal sending
            if message["type"] == "http.response.body" and message["more_body"]:
                sending += 1
                await stuck.wait()

        async def chunks() -> AsyncGenerator[bytes, None]:
            await asyncio.sleep(0.1)
            stuck.set()
            yield b"data: 1\n\n"

        await EventStream(chunks(), ping=0.005)({"type": "http"}, wire.receive, send)
        assert sending == 2

    asyncio.run(test())


def test_when_the_client_leaves_the_chunks_are_closed() -> None:
    async def test() -> None:
        wire, closed = Wire(), asyncio.Event()

        async def chunks() -> AsyncGenerator[bytes, None]:
            try:
                yield b"data: 1\n\n"
                await asyncio.Event().wait()
            finally:
                closed.set()

        serving = asyncio.create_task(EventStream(chunks())({"type": "http"}, wire.receive, wire.send))
        while not wire.sent:
            await asyncio.sleep(0)
        wire.left.set()
        await serving
        assert closed.is_set() and not wire.ended

    asyncio.run(test())
