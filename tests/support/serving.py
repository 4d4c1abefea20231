"""A real server on loopback in a thread, and clients that send any bytes."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvloop
from starlette.types import ASGIApp as App
from starlette.types import Message, Receive, Scope, Send

from synapse.server.access.connections import Connection
from synapse.server.http_server import HttpServer
from tests.support.patience import PATIENCE

Answer = tuple[int, dict[str, str], Any]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what it received."""
    body, more = b"", True
    while more:
        message: Message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    answer = {"path": scope["path"], "length": len(body), "client": scope["client"][0]}
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


@contextmanager
def serving(app: App, connection: type[Connection] = Connection, host: str = "127.0.0.1") -> Iterator[int]:
    """The port that `app` is served on."""
    listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    port = int(listener.getsockname()[1])
    ready: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    is_ready = threading.Event()

    async def run() -> None:
        server, closing = HttpServer(app, listener, connection), asyncio.Event()
        await server.open()
        ready.append((asyncio.get_running_loop(), closing))
        is_ready.set()
        await closing.wait()
        await server.close()

    thread = threading.Thread(target=lambda: uvloop.run(run()))
    thread.start()
    assert is_ready.wait(PATIENCE)
    try:
        yield port
    finally:
        loop, closing = ready[0]
        loop.call_soon_threadsafe(closing.set)
        thread.join(PATIENCE)
        assert not thread.is_alive()


def ask(
    port: int,
    path: str = "/",
    method: str = "GET",
    body: bytes | Iterator[bytes] | None = None,
    headers: dict[str, str] | None = None,
    host: str = "127.0.0.1",
) -> Answer:
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        chunked = body is not None and not isinstance(body, bytes)
        connection.request(method, path, body, headers or {}, encode_chunked=chunked)
        response = connection.getresponse()
        text = response.read()
        found = {name.lower(): value for name, value in response.getheaders()}
        return response.status, found, json.loads(text) if text else None
    finally:
        connection.close()


def raw(port: int, *pieces: bytes, patience: float = PATIENCE) -> bytes:
    """Send the pieces unchanged; returns everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), patience) as sock:
        for piece in pieces:
            sock.sendall(piece)
        answer = b""
        while chunk := sock.recv(1 << 16):
            answer += chunk
        return answer


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def as_nobody(call: Callable[[], object]) -> Any:
    """What `call` returns when it runs as another user. Needs root."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os.write(write, json.dumps(call()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    assert data, "it failed as nobody"
    return json.loads(data)
