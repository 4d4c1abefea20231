"""The process of `synapse view`: its two listeners, and the address that lets a browser in."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import webbrowser
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from synapse.base import paths
from synapse.errors import SynapseError
from synapse.server.access.checks import AccessCheck, Names
from synapse.server.access.connections import at_most
from synapse.server.http_server import HttpServer
from synapse.view.access import Access
from synapse.view.app import ViewApp

CONNECTIONS = 128


def listen(port: int) -> socket.socket:
    """The view is for this machine only: it listens on loopback, and nowhere else."""
    try:
        return socket.create_server(("127.0.0.1", port), backlog=CONNECTIONS)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = "is taken"
        else:
            reason = f"cannot be used ({error.strerror})"
        raise SynapseError(f"port {port} {reason}: choose another with --port, or 0 for any.") from error


async def serve(listener: socket.socket, tell: Callable[[str], None], browser: bool) -> None:
    """Serve until a signal ends it. `tell` gets the address; with `browser` it is opened in one."""
    port = int(listener.getsockname()[1])
    access = Access(port)
    app = ViewApp(access)

    def address() -> str:
        return f"http://127.0.0.1:{port}/?token={access.new_token()}"

    async def private(scope: Scope, receive: Receive, send: Send) -> None:
        """For `synapse view --url`, on a socket that only this user can open."""
        await JSONResponse({"url": address()})(scope, receive, send)

    control = _private_listener(paths.view_socket())
    public = HttpServer(AccessCheck(app, Names()), listener, at_most(CONNECTIONS))
    local = HttpServer(private, control)
    following = asyncio.create_task(app.agents.run())
    reading = asyncio.create_task(app.runs.run())
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    try:
        await public.open()
        await local.open()
        url = address()
        tell(url)
        if browser:
            await asyncio.to_thread(webbrowser.open, url)
        waiting = asyncio.create_task(ended.wait())
        await asyncio.wait((waiting, following), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if following.done():
            following.result()
    finally:
        os.unlink(paths.view_socket())
        following.cancel()
        reading.cancel()
        await asyncio.gather(following, reading, return_exceptions=True)
        await public.close()
        await local.close()


def _private_listener(path: str) -> socket.socket:
    """Replaces the socket of a view that was killed."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        made.bind(path)
    finally:
        os.umask(before)
    made.listen(8)
    return made
