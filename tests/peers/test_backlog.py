"""An agent that is too busy to accept connections: its backlog is full, and connect() fails at once."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
from collections.abc import Iterator

import pytest

from synapse.errors import WaitTimeout
from synapse.peers import control, local_http
from synapse.registry import Entry

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Busy:
    """Accepts nothing until `relax` is called."""

    def __init__(self, folder: str) -> None:
        self.path = f"{folder}/socket"
        self.entry: Entry = {"name": "a", "agent_id": "0" * 64, "socket": self.path}
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(0)
        self._waiting = socket.socket(socket.AF_UNIX)
        self._waiting.connect(self.path)  # a backlog of 0 has room for one
        self._thread = threading.Thread(target=self._serve)

    def relax(self) -> None:
        self._thread.start()

    def _serve(self) -> None:
        self._listener.settimeout(60)
        self._listener.accept()[0].close()
        connection, _ = self._listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(ANSWER)

    def close(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()
        self._waiting.close()
        self._listener.close()


@pytest.fixture
def busy() -> Iterator[Busy]:
    with tempfile.TemporaryDirectory(prefix="synt-") as folder:
        made = Busy(folder)
        yield made
        made.close()


def test_a_command_waits(busy: Busy) -> None:
    threading.Timer(0.1, busy.relax).start()
    assert control.call(busy.entry, "GET", "/x") == {}


def test_a_command_says_that_the_agent_does_not_answer(busy: Busy) -> None:
    with pytest.raises(WaitTimeout, match="does not answer within"):
        control.call(busy.entry, "GET", "/x", timeout=0.05)


async def _answer(busy: Busy) -> object:
    asyncio.get_running_loop().call_later(0.1, busy.relax)
    async with local_http.exchange(local_http.Place(busy.path), "GET", "/x") as response:
        return await response.json()


def test_a_host_waits(busy: Busy) -> None:
    assert asyncio.run(_answer(busy)) == {}
