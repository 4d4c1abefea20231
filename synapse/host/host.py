"""The host process: puts one agent together, starts and stops it. Started by the relay, beside the agent."""

import asyncio
import json
import logging
import logging.handlers
import os
import select
import signal
import socket
import sqlite3
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import uvloop

from synapse.agent_context import SYSTEM, build_instructions
from synapse.agents.base import Surroundings
from synapse.agents.channels import open_channel
from synapse.agents.events import EventReceiver
from synapse.base import paths, processes
from synapse.base.loading import load
from synapse.config import Limits as LimitSettings
from synapse.config import Settings, unpack_settings
from synapse.controller import TerminalController
from synapse.delivery.courier import Delivery
from synapse.host.aftermath import clean_up
from synapse.host.doorkeeper import Doorkeeper
from synapse.host.log_keeper import LogKeeper
from synapse.host.output_log import OutputLog
from synapse.host.relay_wire import RelayWire
from synapse.messages.display import Display
from synapse.messages.inbox import Action, Inbox
from synapse.profiles.loader import unpack_profile
from synapse.registry import AgentRegistry, Entry
from synapse.relay import wire
from synapse.relay.console import restore_terminal
from synapse.relay.link import GOODBYE
from synapse.server.about import About
from synapse.server.outbound import Outbound
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.files import drop_files
from synapse.tasks.loop_guard import LoopGuard
from synapse.tasks.store import TaskStore
from synapse.tasks.task import GONE, TaskError, text_message
from synapse.terminal.screen import undo_modes

if TYPE_CHECKING:
    import grpc

    from synapse.messages.messenger import Messenger

logger = logging.getLogger(__name__)

BULK = 64 * 1024  # bytes that are waiting: no need to look at each piece of them
LOOK_SOON = 0.02  # seconds after output, a key or an event
LAST_SECONDS = 5  # seconds at the most that the host outlives its relay
INTERNAL = {"code": "INTERNAL", "message": "Synapse failed while it delivered the task: see its log"}


class Host:
    """One agent. Lives as long as its relay: the end of the wire is the end."""

    def __init__(self, umask: int, *sockets: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._link, self._tcp, self._control, self._events = sockets
        self._umask = umask  # the user's own
        self._unpacker = wire.Unpacker()
        self._transport: asyncio.WriteTransport | None = None
        self._ended = asyncio.Event()
        self._met = asyncio.Event()  # the relay has said hello, or will never say it
        self._console: dict[str, object] | None = None
        self._status_timer: asyncio.TimerHandle | None = None
        self._controller: TerminalController | None = None
        self._display: Display | None = None
        self._inbox: Inbox
        self._messenger: Messenger | None = None
        self._entry: Entry = {}
        self._settings: Settings
        self._token: str | None = None
        self._about: About
        self._outbound: Outbound
        self._registry = AgentRegistry()
        self._engine: TaskEngine | None = None
        self._folder = ""
        self._run = ""
        self._typed: frozenset[str] = frozenset()
        self._child = (0, "")
        self._orderly = False  # the relay ends as it should, even if we have not read that
        signal.signal(GOODBYE, self._on_goodbye)

    def _on_goodbye(self, *_: object) -> None:
        self._orderly = True

    @property
    def _relay_was_killed(self) -> bool:
        return self._controller is not None and self._controller.running and not self._orderly

    async def run(self) -> None:
        await self._loop.create_unix_connection(
            lambda: RelayWire(self._on_open, self._on_data, self._on_end), sock=self._link
        )
        await self._met.wait()
        if self._controller is None:
            return  # the relay ended before it said a word
        if self._relay_is_gone():  # the agent ended at once: nobody will knock
            await self._ended.wait()
            self._finish()
            return
        assert self._engine is not None
        self._about = self._introduce()
        self._outbound = Outbound(self._engine, self._settings.push.allow_private)
        courier = asyncio.ensure_future(self._deliver())
        doors = Doorkeeper(self._tcp, self._control, self._settings, self._token)
        serving = doors.serve(self._controller, self._engine, self._about, self._outbound)
        grpc = await self._open_grpc()
        receiver = await EventReceiver(self._events, self._on_event).serve()  # it closes when let go of
        self._send(wire.pack(wire.READY))
        opening = asyncio.ensure_future(self._open_messenger())
        undo_modes(self._controller.screen)  # 25 ms the first time, which `_restore_terminal` does not have
        ended = asyncio.ensure_future(self._ended.wait())
        await asyncio.wait((ended, serving), return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            serving.result()
            raise RuntimeError("the server has ended")  # the relay starts another host
        courier.cancel()
        opening.cancel()
        self._finish()
        receiver.close()
        doors.close()
        if grpc is not None:
            await grpc.stop(0)
        await asyncio.wait((serving,), timeout=1.5)

    def _relay_is_gone(self) -> bool:
        """Whether its end of the wire is closed, read to the end or not."""
        poll = select.poll()
        poll.register(self._link, 0)
        return bool(poll.poll(0))

    def _introduce(self) -> About:
        assert self._controller is not None
        profile, entry = self._controller.profile, self._entry
        return About(
            agent_id=str(entry["agent_id"]),
            name=str(entry["name"]),
            agent_type=str(entry["agent_type"]),
            working_dir=str(entry["working_dir"]),
            url=str(entry["endpoint"]),
            title=profile.title,
            description=profile.description,
        )

    async def _open_messenger(self) -> None:
        """From now on a human can write to other agents at this one's prompt, and replies find their way."""
        await load("synapse.messages.messenger", "synapse.messages.notices")
        from synapse.launch.starter import Starter
        from synapse.messages.messenger import Messenger
        from synapse.messages.notices import Notices
        from synapse.messages.pending import PendingMessages
        from synapse.peers.directory import open_directory
        from synapse.peers.origin import Origin

        assert self._controller is not None and self._engine is not None and self._display is not None
        me = Origin(self._about.agent_id, self._about.name, in_turn=False)
        starter = Starter(self._settings.agents, str(self._entry["working_dir"]), self._umask)
        directory = open_directory(me, me=self._entry, startable=starter.names, local=self._registry)
        self._messenger = Messenger(
            controller=self._controller,
            directory=directory,
            pending=PendingMessages(os.path.join(self._folder, "sent"), self._run),
            engine=self._engine,
            inbox=self._inbox,
            changed=self._display.changed,
            starter=starter,
        )
        self._messenger.open(self._settings.input_routing, self._loop.call_later)
        Notices(self._engine, directory, me).open()

    async def _open_grpc(self) -> "grpc.aio.Server | None":
        if not self._settings.grpc_port or self._token is None or self._engine is None:
            return None
        from synapse.server.standard.grpc import serve_grpc

        ip = self._tcp.getsockname()[0]
        address = f"{f'[{ip}]' if ':' in ip else ip}:{self._settings.grpc_port}"
        limits = self._settings.limits
        at = (address, self._token, limits.body, limits.rate)
        return await serve_grpc(self._engine, self._about, self._outbound.push, *at)

    async def _deliver(self) -> None:
        """Carry tasks; a fault in one of them must not end the others."""
        assert self._controller is not None and self._engine is not None
        delivery = Delivery(
            *(self._controller, self._engine, self._folder, self._typed, self._registry.is_agent),
            run=self._run,
            draft_patience=self._settings.routing.draft_patience,
        )
        self._instruct()
        while True:
            try:
                await delivery.run()
            except Exception:
                logger.exception("a delivery failed")
                if self._engine.running is not None:
                    self._engine.fail(self._engine.running, INTERNAL)
                await asyncio.sleep(1.0)  # a fault that stays must not take all of the host's time

    def _instruct(self) -> None:
        """Where the CLI has no better way, the first thing typed is who else is here; once a run."""
        assert self._controller is not None and self._engine is not None
        if self._controller.profile.instructions.method != "typed" or not self._settings.initial_instructions:
            return
        text = build_instructions(self._entry, self._registry.list_agents().values())
        try:
            self._engine.submit(
                text_message(text),
                sender={"name": SYSTEM},
                priority=4,
                request_id=f"instructions/{self._run}",
            )
        except TaskError as error:
            logger.warning("the agent is not told about the others: %s", error)

    def _on_event(self, event: Mapping[str, Any]) -> None:
        assert self._controller is not None
        self._controller.event(event)
        self._watch_status()

    # --- the wire -----------------------------------------------------------------------------------------

    def _on_open(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport  # before the first frame, which may want an answer

    def _on_data(self, data: bytes) -> None:
        frames = self._unpacker.feed(data)
        for kind, payload in wire.joined(frames) if len(data) >= BULK else frames:
            self._on_frame(kind, payload)

    def _on_end(self) -> None:
        if self._ended.is_set():
            return
        signal.alarm(LAST_SECONDS)  # whatever holds it, the loop or a lock: no relay, no host
        self._restore_terminal()
        self._ended.set()
        self._met.set()

    def _on_frame(self, kind: int, payload: bytes) -> None:
        if kind == wire.HELLO:
            self._on_hello(json.loads(payload))
            return
        controller, display = self._controller, self._display
        assert controller is not None and display is not None, "the relay says hello first"
        if kind == wire.OUTPUT:
            controller.feed(payload)
            self._watch_status()
        elif kind == wire.KEYS:
            controller.human_typed(*wire.unpack_keys(payload))
            self._watch_status()
        elif kind in (wire.COMMAND, wire.REFUSED):
            controller.command(json.loads(payload))
        elif kind == wire.INJECTED:
            told = json.loads(payload)
            controller.injected(str(told["id"]), str(told["outcome"]))
            self._watch_status()
        elif kind == wire.RESIZE:
            controller.resized(*wire.unpack_size(payload))
            display.resized()
        elif kind == wire.CONSOLE:
            self._console = json.loads(payload)
            controller.console_changed(self._console is not None)
            display.console_changed(self._console is not None)
        elif kind in (wire.PLACE, wire.OVERLAID, wire.OVERLAY_FOCUS, wire.OVERLAY_KEYS):
            display.frame(kind, payload)
        elif kind == wire.SNAPSHOT_WANTED:
            self._send(wire.pack(wire.SNAPSHOT, controller.screen.snapshot()))
        elif kind == wire.PING:
            self._send(wire.pack(wire.PONG))
        elif kind == wire.EXIT:
            controller.exited(json.loads(payload))
            assert self._engine is not None and controller.observer.error is not None
            self._engine.fail_all(controller.observer.error.to_a2a_error())

    def _on_hello(self, hello: dict[str, Any]) -> None:
        entry, console = hello["entry"], hello["console"]
        assert isinstance(entry, dict) and (console is None or isinstance(console, dict))
        self._entry, self._console = entry, console
        self._settings, self._token = unpack_settings(hello["settings"]), hello["token"]
        _log_to(paths.log_file(str(entry["name"])), self._settings.log_level)
        child = int(str(hello["child"]))
        self._child = (child, processes.start_time(child))
        profile = unpack_profile(hello["profile"])  # as it was when the agent was started
        cols, rows = int(str(hello["cols"])), int(str(hello["rows"]))
        env = {**os.environ, **{key: value or "" for key, value in profile.env.items()}}
        surroundings = Surroundings(str(entry["working_dir"]), env, float(str(hello["started_at"])), child)
        channel = open_channel(profile.channel, surroundings)
        self._controller = controller = TerminalController(profile, channel, self._send, cols, rows)
        self._controller.keys, self._controller.written = int(hello["keys"]), int(hello["written"])
        self._controller.set_draft(*hello.get("draft", (True, "")))
        self._controller.stir = self._watch_status
        silent = self._settings.input_routing.feedback == "silent"
        self._inbox = Inbox(chord=self._settings.values["overlay_keys"], silent=silent)
        self._display = Display(
            *(self._inbox, self._controller.screen, lambda: controller.written, self._send),
            *(self._loop.call_later, self._on_action),
            young=not hello["whole"],
            placed=bool(hello.get("placed", True)),
        )
        self._controller.add_output_callback(self._display.output)
        self._controller.console_changed(console is not None)
        self._controller.add_status_callback(self._publish_status)
        log = OutputLog(paths.output_file(str(entry["name"])))
        self._log_keeper = LogKeeper(log, self._controller.screen, self._loop.call_later)
        self._controller.add_output_callback(self._log_keeper.output)
        self._folder = paths.private_dir(paths.agent_dir(str(entry["agent_id"])))
        self._typed = frozenset(hello["injected"])
        self._run = f"{child}-{hello['started_at']}"
        self._engine = _open_engine(self._folder, self._run, self._settings.limits)
        routing, me = self._settings.routing, (str(entry["agent_id"]), str(entry["name"]))
        self._engine.guard = LoopGuard(me, routing.max_hops, routing.pair_per_minute)
        screen = self._controller.screen
        logger.info("host %s of %s is here (%s)", hello["generation"], entry["name"], screen.name)
        self._met.set()

    def _on_action(self, action: Action) -> None:
        """What the human wants done with an entry of the inbox."""
        if self._messenger is not None:
            self._messenger.act(action)

    def _send(self, frame: bytes) -> None:
        if self._transport is not None:
            self._transport.write(frame)

    # --- status -------------------------------------------------------------------------------------------

    def _watch_status(self) -> None:
        """See to it that the status is looked at soon; one look serves any number of causes."""
        soon = self._loop.time() + LOOK_SOON
        if self._status_timer is not None:
            if self._status_timer.when() <= soon:
                return
            self._status_timer.cancel()
        self._status_timer = self._loop.call_at(soon, self._check_status)

    def _check_status(self) -> None:
        assert self._controller is not None
        self._status_timer = None
        wait = self._controller.check_status()
        if wait is not None:
            self._status_timer = self._loop.call_later(wait, self._check_status)

    def _publish_status(self, status: str) -> None:
        try:
            self._registry.update_status(str(self._entry["agent_id"]), status)
        except OSError as error:
            logger.warning("cannot publish the status: %s", error)

    # --- the end ------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        assert self._controller is not None and self._engine is not None
        if self._controller.running:  # nobody has told of its end: the relay was killed, or had no time
            self._engine.fail_all(GONE)
        if self._relay_was_killed:
            clean_up(self._registry, str(self._entry["agent_id"]), *self._child)
        self._log_keeper.end()
        self._engine.store.close()
        logger.info("host of %s ends", self._entry["name"])

    def _restore_terminal(self) -> None:
        """If the relay was killed: before anything else, because the shell will soon write its prompt."""
        if self._console is not None and self._controller is not None and self._relay_was_killed:
            drawn = self._display.left_behind if self._display is not None else b""
            restore_terminal(self._console, drawn + undo_modes(self._controller.screen))


def _open_engine(folder: str, run: str, limits: LimitSettings) -> TaskEngine:
    path = os.path.join(folder, "tasks.db")
    allowed = Limits(limits.queue, limits.message, limits.events)
    try:
        store = TaskStore(path, run, limits.history)
    except (sqlite3.Error, OSError) as error:
        logger.error("no tasks are taken: %s cannot be opened (%s)", path, error)
        return TaskEngine(TaskStore(run=run), allowed, refusing=f"{path} cannot be opened ({error})")
    store.on_dropped = lambda dropped: drop_files(folder, dropped)
    return TaskEngine(store, allowed)


def _log_to(path: str, level: str) -> None:
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=1_000_000, backupCount=3, delay=True)
    handler.setFormatter(
        logging.Formatter("%(asctime)s host[%(process)d] %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S")
    )
    logging.basicConfig(level=level.upper(), handlers=[handler])


async def _main(fds: list[int], umask: int) -> None:
    link, *doors = (socket.socket(fileno=fd) for fd in fds)
    link.setblocking(False)
    await Host(umask, link, *doors).run()


def main() -> None:
    umask = os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    fds = [int(argument) for argument in sys.argv[1:5]]
    for fd in fds:
        os.set_inheritable(fd, False)
    uvloop.run(_main(fds, umask))
    os._exit(0)  # all is written and closed; taking the interpreter apart would take as long as its start
