"""The listeners of a host: the sockets on which clients reach an agent, and their servers."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from synapse.agents.receiver import EventListener
from synapse.base.loading import load
from synapse.host.assembly import Agent
from synapse.host.hello import Hello

if TYPE_CHECKING:
    from synapse.server.app import HttpServer
    from synapse.server.dialect.external import ExternalClient

logger = logging.getLogger(__name__)

WARM_UP = 4.0  # seconds until the server is loaded without a connection: not while the agent starts
CLOSE_TIMEOUT = 1.5  # seconds for all listeners
SERVER = ("synapse.a2a_client", "synapse.server.dialect.external", "synapse.server.app")


class Sockets(NamedTuple):
    """The sockets that the relay gives to each of its hosts."""

    relay: socket.socket
    tcp: socket.socket
    control: socket.socket
    events: socket.socket


class Listener(Protocol):
    async def open(self) -> None: ...

    async def close(self) -> None: ...


def default_listeners(
    agent: Agent, sockets: Sockets, failed: Callable[[BaseException], None]
) -> list[Listener]:
    """`failed` is called if an HTTP listener cannot be opened."""
    hello = agent.hello
    external = cache(lambda: _external_client(hello))  # made once its modules are loaded

    def on_event(event: Mapping[str, Any]) -> None:
        agent.controller.event(event)
        agent.status.soon()

    listeners: list[Listener] = [
        HttpListener(sockets.tcp, lambda: _public_server(agent, sockets.tcp, external()), failed),
        HttpListener(sockets.control, lambda: _private_server(agent, sockets.control, external()), failed),
        EventListener(sockets.events, on_event),  # the agent's hooks report there
    ]
    if hello.settings.grpc_port and hello.token is not None:
        listeners.append(_grpc(agent, sockets, hello.settings.grpc_port, hello.token))
    return listeners


async def close_all(listeners: list[Listener]) -> None:
    if not listeners:
        return
    closing = [asyncio.ensure_future(listener.close()) for listener in listeners]
    done, _ = await asyncio.wait(closing, timeout=CLOSE_TIMEOUT)
    for each in done:
        if (error := each.exception()) is not None:
            logger.error("a listener could not be closed", exc_info=error)


@dataclass(eq=False, repr=False)
class HttpListener:
    """HTTP on a socket that listens already. Its server is loaded at the first connection, or after WARM_UP
    seconds; clients that connect before that wait in the socket's backlog."""

    listener: socket.socket
    server: Callable[[], HttpServer]
    failed: Callable[[BaseException], None]
    _opening: asyncio.Task[HttpServer] | None = None

    async def open(self) -> None:
        self._opening = asyncio.create_task(self._open())
        self._opening.add_done_callback(self._opened)

    async def close(self) -> None:
        if self._opening is not None and not self._opening.cancel():
            await self._opening.result().close()

    async def _open(self) -> HttpServer:
        await _connection(self.listener)
        await load(*SERVER)  # in a thread
        server = self.server()
        await server.open()
        return server

    def _opened(self, opening: asyncio.Task[HttpServer]) -> None:
        if not opening.cancelled() and (error := opening.exception()) is not None:
            self.failed(error)


def _public_server(agent: Agent, tcp: socket.socket, external: ExternalClient) -> HttpServer:
    """For the TCP port, which other users of the machine and other machines may reach."""
    from synapse.server.access.checks import AccessCheck, Bodies, names_for
    from synapse.server.access.connections import at_most
    from synapse.server.app import HttpServer, public_app

    token, settings = agent.hello.token, agent.hello.settings
    has_token = token is not None
    app = public_app(
        agent.controller, agent.engine, agent.about, agent.outbound, external, token_set=has_token
    )
    names = names_for(tcp.getsockname()[0], agent.about.url, settings.allowed_hosts)
    checked = AccessCheck(Bodies(app, settings.limits.body), names, token, settings.limits.rate)
    return HttpServer(checked, tcp, at_most(settings.limits.connections))


def _private_server(agent: Agent, control: socket.socket, external: ExternalClient) -> HttpServer:
    """For the Unix socket, which only this user's own commands may reach."""
    from synapse.server.app import HttpServer, private_app

    app = private_app(agent.controller, agent.engine, agent.about, agent.outbound, external)
    return HttpServer(app, control)


def _external_client(hello: Hello) -> ExternalClient:
    from synapse.a2a_client import AsyncA2AClient, Origin
    from synapse.server.dialect.external import ExternalClient

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
