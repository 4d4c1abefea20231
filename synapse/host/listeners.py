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
from synapse.base import paths
from synapse.base.loading import load
from synapse.host.assembly import Agent
from synapse.host.fifo import FifoListener
from synapse.host.hello import Hello
from synapse.peers.origin import Origin

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from synapse.server.dialect.external import ExternalClient
    from synapse.server.http_server import HttpServer
    from synapse.server.live.live import Live
    from synapse.server.live.route import MakeLive

    MakeApp = Callable[[bool], Starlette]  # for whether a token is set

logger = logging.getLogger(__name__)

WARM_UP = 4.0  # seconds until the server is loaded without a connection: not while the agent starts
CLOSE_TIMEOUT = 1.5  # seconds for all listeners
SERVER = ("synapse.server.app", "synapse.server.http_server")


class Sockets(NamedTuple):
    """The sockets that the relay gives to each of its hosts, and the FIFO of the agent's own requests."""

    relay: socket.socket
    tcp: socket.socket
    control: socket.socket
    events: socket.socket
    requests: int


class Listener(Protocol):
    async def open(self) -> None: ...

    async def close(self) -> None: ...


def default_listeners(
    agent: Agent, sockets: Sockets, failed: Callable[[BaseException], None]
) -> list[Listener]:
    """`failed` is called if an HTTP listener cannot be opened."""
    hello = agent.hello
    live = cache(lambda: _live(agent))  # made when somebody looks
    app = _app_maker(agent, live)

    def on_event(event: Mapping[str, Any]) -> None:
        agent.controller.event(event)
        agent.status.soon()

    listeners: list[Listener] = [
        HttpListener(sockets.tcp, lambda: _public_server(agent, sockets.tcp, app), failed),
        HttpListener(sockets.control, lambda: _private_server(agent, sockets.control, app), failed),
        EventListener(  # for hooks
            sockets.events,
            hello.child,
            on_event,
            came=agent.controller.senders.add,
            knows=agent.controller.observer.knows,
        ),
        FifoListener(
            sockets.requests,
            paths.replies_dir(hello.agent_id),
            Origin(hello.agent_id, hello.name),
            agent.registry,
        ),
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


def _app_maker(agent: Agent, live: MakeLive) -> MakeApp:
    """Makes the public application, once its modules are loaded: one for both listeners, unless a token is
    set, which clients of the private one do not need."""
    external = cache(lambda: _external_client(agent.hello))

    @cache
    def make(token_set: bool) -> Starlette:
        from synapse.server.app import public_app

        return public_app(
            agent.controller,
            agent.engine,
            agent.questions,
            agent.about,
            agent.outbound,
            external,
            live,
            token_set=token_set,
        )

    return make


def _public_server(agent: Agent, tcp: socket.socket, app: MakeApp) -> HttpServer:
    """For the TCP port, which other users of the machine and other machines may reach."""
    from synapse.server.access.addressee import Addressee
    from synapse.server.access.checks import AccessCheck, Bodies, names_for
    from synapse.server.access.connections import at_most
    from synapse.server.http_server import HttpServer

    token, settings = agent.hello.token, agent.hello.settings
    has_token = token is not None
    names = names_for(tcp.getsockname()[0], agent.about.url, settings.allowed_hosts)
    inner = Addressee(Bodies(app(has_token), settings.limits.body), agent.hello.agent_id)
    checked = AccessCheck(inner, names, token, settings.limits.rate)
    most = settings.limits.connections
    connection = at_most(most, limit_of_others=most if has_token else None)
    return HttpServer(checked, tcp, connection, largest_frame=settings.limits.body)


def _private_server(agent: Agent, control: socket.socket, app: MakeApp) -> HttpServer:
    """For the Unix socket, which only this user's own commands may reach."""
    from synapse.server.access.addressee import Addressee
    from synapse.server.app import private_app
    from synapse.server.http_server import HttpServer

    private = private_app(app(False), agent.controller, agent.engine)
    return HttpServer(Addressee(private, agent.hello.agent_id), control)


def _live(agent: Agent) -> Live:
    from synapse.server.live.live import Live

    made = Live(agent.controller, agent.engine, agent.questions, agent.about)
    agent.features.add(made)
    return made


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
