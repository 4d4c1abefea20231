"""Tasks: the time from a send to its reply, the rate of sends, streams, and what they cost the host.

Round trips, the queue, memory and start-up are those of a real agent's host. Streams are compared on servers
of one and the same agent (`task_servers`), because the SDK has no terminal.
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from benchmarks import proc
from benchmarks.peers import COMMAND, PYTHON, Peers, Place, wait
from benchmarks.rpc import Client, send_many, take_all
from benchmarks.table import BARE, SDK, SDK_SQLITE, SYNAPSE, Row, median, percentile
from benchmarks.task_servers import CHUNKS, ECHO, SIZE
from synapse.registry import Entry

ROUNDS, WARM = 200, 10
ECHOES = 2_000
OVER = 100.0  # milliseconds that a task may take longer than the agent does
TASKS, AT_ONCE, CLIENTS = 10_000, 96, 8  # the queue takes 100
SDK_TASKS = {SDK: 2_000, SDK_SQLITE: 200}
STREAMS = (1, 50)
STREAM_ROUNDS = 3
LISTENERS, SETTLE, IDLE = 200, 2.0, 15.0
STARTS = 7
_AGENT = f"{PYTHON} -m synapse.dummy_agent"
_MODES = {"": "{}\r\n", " --tui": "\x1b]0;✳ dummy"}  # what shows that the reply is there


def run() -> Iterator[Row]:
    """The rows one after the other, so that those of earlier measurements are kept if a later one fails."""
    peers = Peers(SDK, SDK_SQLITE, SYNAPSE)
    with peers.attempt(SDK_SQLITE):
        if not all(map(importlib.util.find_spec, ("sqlalchemy", "aiosqlite"))):
            raise RuntimeError("sqlalchemy and aiosqlite are not installed")
    for measure in (_echoes, _round_trips, _queue, _streams, _listeners, _start_up):
        with Place() as place:
            place.env["SYNAPSE_LIMITS__RATE"] = "0"  # else 200 requests a second is the answer
            yield from measure(place, peers)


# --- an echo -----------------------------------------------------------------------------------------------


def _echoes(place: Place, peers: Peers) -> list[Row]:
    """SendMessage to an agent that answers at once, behind Synapse's handler and behind the SDK's."""
    rates, p50 = {}, {}
    for kind in (SDK, SYNAPSE):
        if kind in peers:
            with peers.attempt(kind), _served(kind, place) as server, _clients(server.port) as clients:
                taken = [_echo(clients[0]) for _ in range(WARM + ROUNDS)][WARM:]
                p50[kind] = median(taken) * 1e3
                started = time.perf_counter()
                send_many(clients, ECHOES, ECHO, wait=True)
                rates[kind] = ECHOES / (time.perf_counter() - started)
    return [
        Row("SendMessage to an echo, p50", "ms", p50),
        Row(f"SendMessage to an echo, {CLIENTS} clients", "1/s", rates),
    ]


def _echo(client: Client) -> float:
    started = time.perf_counter()
    task = client.send(ECHO, wait=True)
    if task["artifacts"][0]["parts"][0]["text"] != ECHO:
        raise RuntimeError(f"{ECHO!r} was answered with {task['artifacts']}")
    return time.perf_counter() - started


# --- a task and its reply ----------------------------------------------------------------------------------


def _round_trips(place: Place, peers: Peers) -> Iterator[Row]:
    for mode, shows in _MODES.items():
        bare = place.open(BARE, _AGENT + mode)
        entry = _start(place, "tui" if mode else "line", *mode.split())
        bare.wait_for("? for shortcuts" if mode else "dummy>")
        taken: dict[str, list[float]] = {BARE: [], SYNAPSE: []}
        with Client(int(str(entry["port"]))) as client:
            for number in range(-WARM, ROUNDS):
                time.sleep(0.05)  # the prompt after the last reply
                bare.drain()
                text = rf"say one\n{number}"
                started = time.perf_counter()
                bare.write(text.encode() + b"\r")
                own = bare.wait_for(shows.replace("{}", f"one\r\n{number}")) - started
                started = time.perf_counter()
                task = client.send(text, wait=True)
                whole = time.perf_counter() - started
                said = task["artifacts"][0]["parts"][0]["text"]
                if said != f"one\n{number}":
                    raise RuntimeError(f"{text!r} was answered with {said!r}")
                if number >= 0:
                    taken[BARE].append(own * 1e3)
                    taken[SYNAPSE].append(whole * 1e3)
        figure = f"task, send to reply, {'tui' if mode else 'line mode'}"
        p50 = {peer: median(values) for peer, values in taken.items()}
        met = p50[SYNAPSE] <= p50[BARE] + OVER
        yield Row(f"{figure}, p50", "ms", p50, f"bare + {OVER:g}", met)
        yield Row(f"{figure}, p99", "ms", {peer: percentile(values, 99) for peer, values in taken.items()})


def _start(place: Place, name: str, *arguments: str) -> Entry:
    place.run(COMMAND, "start", "dummy", "--name", name, "--", *arguments)
    found = {str(entry["name"]): entry for entry in place.agents()}
    return found[name]


# --- into the queue ----------------------------------------------------------------------------------------


def _queue(place: Place, peers: Peers) -> list[Row]:
    """Send 10,000 tasks behind one that runs; each batch is canceled before the next."""
    entry = _start(place, "busy")
    host = proc.host_of(int(str(entry["pid"])))
    rates, memory = {}, {}
    with _clients(int(str(entry["port"]))) as clients:
        _task_under_way(clients[0])
        before, spent, sent = proc.memory(host)[0], 0.0, 0
        while sent < TASKS:
            started = time.perf_counter()
            tasks = send_many(clients, AT_ONCE, "say never")
            spent += time.perf_counter() - started
            sent += AT_ONCE
            for task in tasks:
                clients[0].call("CancelTask", {"id": task})
        rates[SYNAPSE], memory[SYNAPSE] = sent / spent, proc.memory(host)[0]
    for kind, count in SDK_TASKS.items():
        if kind in peers:
            with peers.attempt(kind), _served(kind, place) as server, _clients(server.port) as clients:
                started = time.perf_counter()
                send_many(clients, count, "say never")
                rates[kind] = count / (time.perf_counter() - started)
    return [
        Row("sends accepted into the queue", "1/s", rates, notes=peers.notes),
        Row("host, resident, before 10,000 tasks", "MB", {SYNAPSE: before}),
        Row("host, resident, after them", "MB", memory),
    ]


def _task_under_way(client: Client) -> str:
    """The id of a task that does not end."""
    task = str(client.send("silent 3600 never")["id"])

    def works() -> bool:
        return bool(client.call("GetTask", {"id": task})["status"]["state"] == "TASK_STATE_WORKING")

    wait(works, "a task under way")
    return task


@contextmanager
def _clients(port: int) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Client(port)) for _ in range(CLIENTS)]


# --- out to those who listen -------------------------------------------------------------------------------


class _Server(NamedTuple):
    pid: int
    port: int


@contextmanager
def _served(kind: str, place: Place) -> Iterator[_Server]:
    folder = os.path.dirname(place.file(re.sub(r"\W", "", f"{kind}{time.monotonic()}") + "/here", ""))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words = [PYTHON, "-m", "benchmarks.task_servers", kind, str(listener.fileno()), folder]
        server = subprocess.Popen(words, env=place.env, pass_fds=[listener.fileno()])
        port = listener.getsockname()[1]
    try:
        with Client(port) as client:  # it waits until there is somebody to answer
            client.call("ListTasks", {})
        yield _Server(server.pid, port)
    finally:
        server.kill()
        server.wait()


def _streams(place: Place, peers: Peers) -> Iterator[Row]:
    for listeners in STREAMS:
        taken = {}
        for kind in peers:
            rounds = 1 if kind == SDK_SQLITE else STREAM_ROUNDS
            with peers.attempt(kind):
                taken[kind] = median([_stream(place, kind, listeners) for _ in range(rounds)])
        figure = f"{CHUNKS} chunks of 1 KB to {listeners} listener{'s' if listeners > 1 else ''}"
        yield Row(figure, "ms", taken)


def _stream(place: Place, kind: str, listeners: int) -> float:
    """Milliseconds from the agent's first chunk until every listener has the last."""
    with _served(kind, place) as server, ExitStack() as stack:
        first = stack.enter_context(Client(server.port))
        task = first.send("go")["id"]
        clients = [stack.enter_context(Client(server.port)) for _ in range(listeners)]
        for client in clients:
            client.subscribe(task)
        started = time.perf_counter()
        first.go()
        take_all(clients)
        taken = time.perf_counter() - started
        if any(client.received < CHUNKS * SIZE for client in clients):
            raise RuntimeError(f"{kind}: chunks are missing")
    return taken * 1e3


def _listeners(place: Place, peers: Peers) -> list[Row]:
    """The cost of clients that listen to a task in which nothing happens."""
    entry = _start(place, "busy")
    kilobytes, cpu = {}, {}
    ours = _Server(proc.host_of(int(str(entry["pid"]))), int(str(entry["port"])))
    for kind in (SDK, SYNAPSE):
        if kind in peers:
            with peers.attempt(kind), ExitStack() as stack:
                host = ours if kind == SYNAPSE else stack.enter_context(_served(kind, place))
                client = stack.enter_context(Client(host.port))
                kilobytes[kind], cpu[kind] = _cost(host, _task_under_way(client))
    return [
        Row("an idle listener, memory", "KB", kilobytes),
        Row("an idle listener, processor time", "µs/s", cpu),
    ]


def _cost(host: _Server, task: str) -> tuple[float, float]:
    """Memory in KB and processor time in µs a second, of one listener."""
    with ExitStack() as stack:
        idle = _load(host.pid)
        memory = proc.memory(host.pid)[0]
        for _ in range(LISTENERS):
            stack.enter_context(Client(host.port)).subscribe(task)
        busy = _load(host.pid)
        more = proc.memory(host.pid)[0] - memory
    return more * 1024 / LISTENERS, max(busy - idle, 0.0) * 1e6 / LISTENERS


def _load(pid: int) -> float:
    """Seconds of processor time a second."""
    time.sleep(SETTLE)
    before = proc.cpu_seconds(pid)
    time.sleep(IDLE)
    return (proc.cpu_seconds(pid) - before) / IDLE


# --- the beginning -----------------------------------------------------------------------------------------


def _start_up(place: Place, peers: Peers) -> list[Row]:
    taken: dict[str, list[float]] = {SDK: [], SYNAPSE: []}
    for _ in range(STARTS + 1):  # the first fills the caches
        started = time.perf_counter()
        if SDK in peers:
            with peers.attempt(SDK), _served(SDK, place):
                taken[SDK].append((time.perf_counter() - started) * 1e3)
        started = time.perf_counter()
        _start(place, "new")
        taken[SYNAPSE].append((time.perf_counter() - started) * 1e3)
        place.run(COMMAND, "stop", "new")
        place.wait_no_process()
    starts = {peer: median(taken[peer][1:]) for peer in (SDK, SYNAPSE) if peer in peers}
    return [Row("start until it serves", "ms", starts)]
