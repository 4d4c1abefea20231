"""The doors of one agent, opened at the first knock, or a while after the start, when nobody waits for it."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from synapse.agent_terminal import AgentTerminal
from synapse.base.loading import load
from synapse.config import Settings
from synapse.server.about import About
from synapse.server.outbound import Outbound
from synapse.tasks.engine import TaskEngine

if TYPE_CHECKING:
    from synapse.server.app import Door

WARM = 4.0  # seconds: an agent that has only just started has better things to do
SERVER = (
    "synapse.a2a_client",
    "synapse.server.dialect.external",
    "synapse.server.app",
)  # most of what a host loads


class Doorkeeper:
    """`tcp` is everybody's door, `control` that of our own commands; both listen, and who knocks waits."""

    def __init__(
        self, tcp: socket.socket, control: socket.socket, settings: Settings, token: str | None
    ) -> None:
        self._tcp = tcp
        self._control = control
        self._settings = settings
        self._token = token
        self._doors: list[Door] = []

    def serve(
        self, controller: AgentTerminal, engine: TaskEngine, about: About, outbound: Outbound
    ) -> asyncio.Task[None]:
        """Until `close`, unless something fails."""
        self._serving = asyncio.ensure_future(self._serve(controller, engine, about, outbound))
        return self._serving

    def close(self) -> None:
        if not self._doors:
            self._serving.cancel()  # nobody has knocked
        for door in self._doors:
            door.close()

    async def _serve(
        self, controller: AgentTerminal, engine: TaskEngine, about: About, outbound: Outbound
    ) -> None:
        await _knock(self._tcp, self._control)
        await load(*SERVER)  # the agent is looked after meanwhile
        self._doors = self._make(controller, engine, about, outbound)
        await asyncio.gather(*(door.open() for door in self._doors))

    def _make(
        self, controller: AgentTerminal, engine: TaskEngine, about: About, outbound: Outbound
    ) -> list[Door]:
        from synapse.a2a_client import AsyncA2AClient, Origin
        from synapse.server.access.checks import Bodies, Doors, names_for
        from synapse.server.access.connections import at_most
        from synapse.server.app import Door, private_app, public_app
        from synapse.server.dialect.external import ExternalClient

        limits, ip = self._settings.limits, self._tcp.getsockname()[0]
        names = names_for(ip, about.url, self._settings.allowed_hosts)
        origin = Origin(about.agent_id, about.name, in_turn=False)
        elsewhere = ExternalClient(AsyncA2AClient(origin, allow_private=self._settings.push.allow_private))
        public = public_app(controller, engine, about, outbound, elsewhere, self._token is not None)
        doors = Doors(Bodies(public, limits.body), names, self._token, limits.rate)
        private = private_app(controller, engine, about, outbound, elsewhere)
        return [Door(doors, self._tcp, at_most(limits.connections)), Door(private, self._control)]


async def _knock(*listeners: socket.socket) -> None:
    """Until somebody waits at one of them, or it is time."""
    loop = asyncio.get_running_loop()
    knocked = asyncio.Event()
    try:
        for listener in listeners:
            loop.add_reader(listener, knocked.set)
        async with asyncio.timeout(WARM):
            await knocked.wait()
    except TimeoutError:
        pass
    finally:
        for listener in listeners:
            loop.remove_reader(listener)
