"""The listeners of a host: when a server is loaded, and that one that fails does not hold up the others."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from synapse.host import listeners
from synapse.host.listeners import HttpListener, close_all
from tests.support.patience import PATIENCE


class Server:
    """In place of an HTTP server: notes what is asked of it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[str] = []
        self._error = error

    async def open(self) -> None:
        self.calls.append("open")
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        self.calls.append("close")


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def with_listener(
    server: Server, test: Callable[[HttpListener, int], Awaitable[None]]
) -> list[BaseException]:
    failures: list[BaseException] = []

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as sock:
            make: Any = lambda: server  # noqa: E731
            listener = HttpListener(sock, make, failures.append)
            await listener.open()
            await test(listener, sock.getsockname()[1])

    asyncio.run(main())
    return failures


@pytest.fixture(autouse=True)
def nothing_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "SERVER", ())


def test_the_server_is_opened_at_the_first_connection() -> None:
    async def test(listener: HttpListener, port: int) -> None:
        await asyncio.sleep(0.05)
        assert server.calls == []
        with socket.create_connection(("127.0.0.1", port)):
            await until(lambda: server.calls)
        await listener.close()
        assert server.calls == ["open", "close"]

    server = Server()
    assert with_listener(server, test) == []


def test_the_server_is_opened_after_a_while_even_if_nobody_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(listener: HttpListener, port: int) -> None:
        await until(lambda: server.calls)

    monkeypatch.setattr(listeners, "WARM_UP", 0.01)
    server = Server()
    assert with_listener(server, test) == []


def test_a_listener_that_nobody_has_used_is_closed_without_a_server() -> None:
    async def test(listener: HttpListener, port: int) -> None:
        await listener.close()
        with socket.create_connection(("127.0.0.1", port)):
            await asyncio.sleep(0.02)

    server = Server()
    assert with_listener(server, test) == [] and server.calls == []


def test_a_server_that_cannot_be_opened_is_reported() -> None:
    async def test(listener: HttpListener, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)):
            await until(lambda: server.calls)

    error = OSError("no more files")
    server = Server(error)
    assert with_listener(server, test) == [error]


def test_one_that_fails_or_takes_for_ever_does_not_keep_the_others_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Endless(Server):
        async def close(self) -> None:
            await asyncio.Event().wait()

    class Faulty(Server):
        async def close(self) -> None:
            raise OSError("it is gone")

    monkeypatch.setattr(listeners, "CLOSE_TIMEOUT", 0.05)
    good = Server()
    with caplog.at_level(logging.ERROR):
        asyncio.run(close_all([Faulty(), Endless(), good]))
    assert good.calls == ["close"]
    assert [record.getMessage() for record in caplog.records] == ["a listener could not be closed"]
