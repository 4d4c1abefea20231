"""The listeners of a host: the sockets on which an agent is reached, and what serves them."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from synapse.agents.receiver import EventListener
from synapse.base.loading import load
from synapse.host.assembly import Agent

if TYPE_CHECKING:
    from synapse.server.app import HttpServer
    from synapse.server.dialect.external import ExternalClient

logger = logging.getLogger(__name__)

WARM_UP = 4.0  # seconds until the server is loaded even if nobody has connected: not while the agent starts
CLOSE_TIMEOUT = 1.5  # seconds for all listeners
SERVER = (  # most of what a host loads
    "synapse.a2a_client",
    "synapse.server.dialect.external",
    "synapse.server.app",
)


class Sockets(NamedTuple):
    """What the relay hands to each of its hosts."""

    relay: socket.socket
    tcp: socket.socket
    control: socket.socket
    events: socket.socket


class Listener(Protocol):
    async def open(self) -> None:
        """Serve from now on."""

    async def close(self) -> None:
        """End; what is being served may have a moment."""


def default_listeners(
    agent: Agent, sockets: Sockets, failed: Callable[[BaseException], None]
) -> list[Listener]:
    """`failed` is called if an HTTP listener cannot be opened: the agent cannot do without."""
    servers = HttpServers(agent, sockets)

    def on_event(event: Mapping[str, Any]) -> None:
        agent.controller.event(event)
        agent.status.soon()

    listeners: list[Listener] = [
        HttpListener(sockets.tcp, lambda: servers.public, failed),
        HttpListener(sockets.control, lambda: servers.private, failed),
        EventListener(sockets.events, on_event),  # the agent's own hooks report there
    ]
    hello = agent.hello
    if hello.settings.grpc_port and hello.token is not None:
        listeners.append(_grpc(agent, sockets, hello.settings.grpc_port, hello.token))
    return listeners


async def close_all(listeners: list[Listener]) -> None:
    """At the same time, each for itself."""
    if not listeners:
        return
    closing = [asyncio.ensure_future(listener.close()) for listener in listeners]
    done, _ = await asyncio.wait(closing, timeout=CLOSE_TIMEOUT)
    for each in done:
        if (error := each.exception()) is not None:
            logger.error("a listener could not be closed", exc_info=error)


class HttpListener:
    """HTTP on a socket that listens already. Its server is loaded at the first connection, or after WARM_UP
    seconds; clients that connect before that wait in the socket's backlog."""

    def __init__(
        self,
        listener: socket.socket,
        server: Callable[[], HttpServer],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._listener = listener
        self._server = server
        self._failed = failed
        self._opening: asyncio.Task[HttpServer] | None = None  # while it is open

    async def open(self) -> None:
        self._opening = asyncio.create_task(self._open())
        self._opening.add_done_callback(self._opened)

    async def close(self) -> None:
        if self._opening is not None and not self._opening.cancel():
            await self._opening.result().close()

    async def _open(self) -> HttpServer:
        await _connection(self._listener)
        await load(*SERVER)  # in a thread: the agent goes on meanwhile
        server = self._server()
        await server.open()
        return server

    def _opened(self, opening: asyncio.Task[HttpServer]) -> None:
        if not opening.cancelled() and (error := opening.exception()) is not None:
            self._failed(error)


class HttpServers:
    """The servers of the two HTTP listeners, made when their modules are loaded."""

    def __init__(self, agent: Agent, sockets: Sockets) -> None:
        self._agent = agent
        self._sockets = sockets

    @cached_property
    def public(self) -> HttpServer:
        """On the TCP port, which other users of the machine and other machines may reach."""
        from synapse.server.access.checks import AccessCheck, Bodies, names_for
        from synapse.server.access.connections import at_most
        from synapse.server.app import HttpServer, public_app

        agent, hello, settings = self._agent, self._agent.hello, self._agent.hello.settings
        app = public_app(
            agent.controller,
            agent.engine,
            agent.about,
            agent.outbound,
            self._external,
            token_set=hello.token is not None,
        )
        limits, ip = settings.limits, self._sockets.tcp.getsockname()[0]
        names = names_for(ip, agent.about.url, settings.allowed_hosts)
        checked = AccessCheck(Bodies(app, limits.body), names, hello.token, limits.rate)
        return HttpServer(checked, self._sockets.tcp, at_most(limits.connections))

    @cached_property
    def private(self) -> HttpServer:
        """On the Unix socket, which only this user's own commands may reach."""
        from synapse.server.app import HttpServer, private_app

        agent = self._agent
        app = private_app(agent.controller, agent.engine, agent.about, agent.outbound, self._external)
        return HttpServer(app, self._sockets.control)

    @cached_property
    def _external(self) -> ExternalClient:
        from synapse.a2a_client import AsyncA2AClient, Origin
        from synapse.server.dialect.external import ExternalClient

        hello = self._agent.hello
        origin = Origin(hello.agent_id, hello.name, in_turn=False)
        return ExternalClient(AsyncA2AClient(origin, allow_private=hello.settings.push.allow_private))


def _grpc(agent: Agent, sockets: Sockets, port: int, token: str) -> Listener:
    from synapse.server.standard.grpc import GrpcListener

    ip, limits = sockets.tcp.getsockname()[0], agent.hello.settings.limits
    return GrpcListener(
        agent.engine,
        agent.about,
        agent.outbound.push,
        address=f"{f'[{ip}]' if ':' in ip else ip}:{port}",
        token=token,
        largest=limits.body,
        rate=limits.rate,
    )


async def _connection(listener: socket.socket) -> None:
    """Until a client has connected, or WARM_UP seconds have passed."""
    loop = asyncio.get_running_loop()
    connected = asyncio.Event()
    loop.add_reader(listener, connected.set)
    try:
        async with asyncio.timeout(WARM_UP):
            await connected.wait()
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(listener)
