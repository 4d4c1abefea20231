"""What a host does with the requests of its agent's commands, and with the files of their replies."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from synapse.errors import SynapseError
from synapse.host import fifo as module
from synapse.host.fifo import FifoListener
from synapse.peers.fifo import Request, Way
from synapse.peers.origin import Origin
from tests.support.home import Home

Test = Callable[[Way], Awaitable[None]]
KEPT = 60


def with_listener(home: Home, test: Test) -> None:
    way = Way("a", str(home.path / "x.requests"))
    os.mkfifo(way.fifo)
    os.mkdir(way.replies)
    fd = os.open(way.fifo, os.O_RDWR | os.O_NONBLOCK)

    async def main() -> None:
        listener = FifoListener(fd, way.replies, Origin("1", "a"), home.registry)
        await listener.open()
        await test(way)
        await listener.close()

    try:
        asyncio.run(main())
    finally:
        os.close(fd)


async def reply_to(request: Request) -> bytes:
    found = b""
    async with asyncio.timeout(30):
        while (piece := request.step()) != b"":
            found += piece or b""
            await asyncio.sleep(request.pause)
    request.close()
    return found


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/terminal/keys"), ("POST", "/terminal/interrupt"), ("GET", "/terminal/screen"),
        ("GET", "/tasks/../terminal/screen"), ("POST", "/tasks/x/../../terminal/keys"),
        ("POST", "/external/discover"), ("DELETE", "/tasks/x"), ("GET", "/status\r\nX: y"),
    ],
)  # fmt: skip
def test_what_a_sandbox_must_not_do_is_refused(home: Home, method: str, path: str) -> None:
    async def test(way: Way) -> None:
        reply = await reply_to(Request(way, "b", method, path, {}))
        assert reply.startswith(b"HTTP/1.1 403 ") and b"run the command outside of it" in reply

    with_listener(home, test)


def test_an_agent_that_is_not_there_is_named_as_such(home: Home) -> None:
    async def test(way: Way) -> None:
        assert b"x-synapse-unreachable" in await reply_to(Request(way, "b", "GET", "/status"))

    with_listener(home, test)


def test_a_request_that_is_no_object_is_refused_and_the_next_served(home: Home) -> None:
    async def test(way: Way) -> None:
        request = Request(way, "b", "GET", "/status")
        request._chunks = request._left = module_pack(request, b"[1]")
        assert b"HTTP/1.1 400 " in await reply_to(request)
        assert b"HTTP/1.1 502 " in await reply_to(Request(way, "b", "GET", "/status"))

    with_listener(home, test)


def module_pack(request: Request, data: bytes) -> list[bytes]:
    from synapse.peers.fifo import pack

    return pack(bytes.fromhex(os.path.basename(request._path)), data)


def test_a_full_disk_is_said_to_the_command(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, data: bytes) -> None:
        raise module._Unwritten(os.strerror(errno.ENOSPC))

    async def test(way: Way) -> None:
        with pytest.raises(SynapseError, match="make room on that disk"):
            await reply_to(Request(way, "b", "GET", "/status"))

    monkeypatch.setattr(module._Reply, "write", full)
    with_listener(home, test)


def test_replies_that_nobody_removed_are_removed_after_a_while(home: Home) -> None:
    old = home.path / "x.replies" / "old"

    async def test(way: Way) -> None:
        request = Request(way, "b", "GET", "/status")
        while request.step() is None:
            await asyncio.sleep(0.001)
        Path(old).write_text("x")
        os.utime(old, (time.time() - KEPT - 1,) * 2)
        listener = FifoListener(0, way.replies, Origin("1", "a"), home.registry)
        listener._sweep()
        assert os.listdir(way.replies) == [os.path.basename(request._path)]
        assert listener._sweeping is not None  # for the young one
        listener._sweeping.cancel()
        request.close()

    with_listener(home, test)


def test_no_timer_runs_while_there_is_no_reply(home: Home) -> None:
    async def test(way: Way) -> None:
        listener = FifoListener(0, way.replies, Origin("1", "a"), home.registry)
        listener._sweep()
        assert listener._sweeping is None

    with_listener(home, test)
