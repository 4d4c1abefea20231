"""The host process: it connects to its relay, opens the listeners, and ends with the agent or the relay."""

import asyncio
import logging
import logging.handlers
import select
import signal
from contextlib import suppress
from typing import Any

from synapse.agent_context import SYSTEM, build_instructions
from synapse.base import checkpoints, paths, processes
from synapse.host.assembly import Agent
from synapse.host.features import late_features
from synapse.host.hello import Hello
from synapse.host.listeners import Listener, Sockets, close_all, default_listeners
from synapse.host.watchdog import Watchdog
from synapse.host.wire import RelayFrames, RelayWire, TakeFrame
from synapse.keys import patterns
from synapse.relay import wire
from synapse.tasks.task import GONE, TaskError, text_message
from synapse.terminal.screen import undo_modes

logger = logging.getLogger(__name__)

LAST_SECONDS = 6  # seconds at the most that the host outlives its agent or its relay
DRAIN_SECONDS = 3.0  # for what is owed; the relay waits 5 seconds, and closing takes up to 1.5


class Host:
    """The host of one agent."""

    def __init__(self, sockets: Sockets, umask: int) -> None:
        loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._umask = umask  # the user's own
        self._relay = RelayWire(self._meet, self._relay_ended)
        self._met: asyncio.Future[RelayFrames | None] = loop.create_future()  # None: no hello came
        self._ended: asyncio.Future[None] = loop.create_future()  # an error: the relay starts another host
        self._orderly = False  # the relay said goodbye by signal
        self._watchdog = Watchdog(loop)
        signal.signal(wire.GOODBYE, self._on_goodbye)
        patterns.limit_time(logger.warning)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self._relay, sock=self._sockets.relay)
        frames = await self._met
        if frames is None:
            return
        if self._ended.done() or self._relay_is_gone():  # the agent ended at once
            await self._ended
            await self._end(frames.agent, [])
        else:
            await self._serve(frames.agent)

    async def _serve(self, agent: Agent) -> None:
        _instruct(agent)
        delivering = asyncio.ensure_future(agent.delivery.run())
        listeners = default_listeners(agent, self._sockets, self._fail)
        for listener in listeners:
            await listener.open()
        self._relay.send(wire.pack(wire.READY))
        adding = asyncio.ensure_future(_add_late_features(agent))
        undo_modes(agent.controller.screen)  # 25 ms the first time, which `_relay_ended` does not have
        await self._ended
        delivering.cancel()
        adding.cancel()
        await self._end(agent, listeners)

    async def _end(self, agent: Agent, listeners: list[Listener]) -> None:
        """Nothing new is accepted and every task has ended. Send what is owed, while the listeners still
        serve; then close them, and the store last."""
        if agent.controller.running:  # no EXIT frame came: the relay was killed, or had no time
            agent.engine.end(GONE)
        if self._was_killed(agent):
            _clean_up(agent)
        checkpoints.reached("host drains")
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await agent.features.drain()
        await close_all(listeners)
        await agent.features.close()
        agent.engine.store.close()
        logger.info("host of %s ends", agent.hello.name)
        self._relay.send(wire.pack(wire.DRAINED))
        await asyncio.sleep(0)  # uvloop writes when the loop turns

    def _meet(self, told: dict[str, Any], relay: RelayWire) -> TakeFrame:
        hello = Hello.of(told)
        _log_to(paths.log_file(hello.name), hello.settings.log_level)
        agent = Agent(hello, relay.send, self._umask)
        name = agent.controller.screen.name
        logger.info("host %s of %s is here (%s)", hello.generation, hello.name, name)
        frames = RelayFrames(agent, relay.send, self._agent_ended)
        self._met.set_result(frames)
        return frames.take

    def _relay_is_gone(self) -> bool:
        """Whether its end of the socket is closed, even if unread data is left."""
        poll = select.poll()
        poll.register(self._sockets.relay, 0)
        return bool(poll.poll(0))

    def _on_goodbye(self, *_: object) -> None:
        self._orderly = True

    def _agent_ended(self) -> None:
        self._watchdog.end_within(LAST_SECONDS)
        if not self._ended.done():
            self._ended.set_result(None)

    def _relay_ended(self) -> None:
        self._watchdog.end_within(LAST_SECONDS)
        if not self._met.done():
            self._met.set_result(None)
        frames = self._met.result()
        if frames is not None and self._was_killed(frames.agent):
            frames.restore_terminal()  # first, since the shell will soon write its prompt
        if not self._ended.done():
            self._ended.set_result(None)

    def _was_killed(self, agent: Agent) -> bool:
        return agent.controller.running and not self._orderly

    def _fail(self, error: BaseException) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)


def _clean_up(agent: Agent) -> None:
    """End the agent of a relay that was killed, and remove its sockets and its registry entry."""
    hello, registry = agent.hello, agent.registry
    logger.warning("the relay ended unexpectedly; cleaning up")
    if processes.start_time(hello.child) in ("", hello.child_start):  # gone, or still the same process
        processes.end_session(hello.child)
    with registry.mutex():
        if not registry.is_alive(hello.agent_id):  # else the next agent of this id is running
            paths.remove_sockets(hello.agent_id)
    registry.list_agents()  # removes the entries of dead agents


def _instruct(agent: Agent) -> None:
    """If they are to be typed: type the instructions as the first message, once a run."""
    hello = agent.hello
    if hello.instruction_method != "typed":
        return
    text = build_instructions(hello.entry, agent.registry.list_agents().values())
    try:
        request = f"instructions/{hello.run}"
        agent.engine.submit(text_message(text), sender={"name": SYSTEM}, priority=4, request_id=request)
    except TaskError as error:
        logger.warning("the agent did not get its instructions: %s", error)


async def _add_late_features(agent: Agent) -> None:
    try:
        agent.features.add(*await late_features(agent))
    except Exception:
        logger.exception("some features of this host cannot be loaded")


def _log_to(path: str, level: str) -> None:
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=1_000_000, backupCount=3, delay=True)
    line = "%(asctime)s host[%(process)d] %(name)s: %(message)s"
    handler.setFormatter(logging.Formatter(line, "%Y-%m-%d %H:%M:%S"))
    logging.basicConfig(level=level.upper(), handlers=[handler])
