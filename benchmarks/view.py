"""The live view: how soon a question, a page and an echo are there, and what viewers cost an agent."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection, unix_serve
from websockets.sync.client import ClientConnection, connect, unix_connect

from benchmarks import proc
from benchmarks.echo import _AGENT, _measure
from benchmarks.peers import COMMAND, PYTHON, Place
from benchmarks.table import SYNAPSE, Row, percentile
from benchmarks.terminal import Terminal
from synapse.registry import AgentRegistry, Entry

QUESTIONS, KEYS, PAGES = 8, 40, 7
FLOOD = 20  # MB
MANY = 200  # agents
VIEWERS = 3
ECHO_ROUNDS, ECHO_KEYS = 5, 200
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def run() -> Iterator[Row]:
    with Place() as place:
        place.run(COMMAND, "start", "dummy", "--name", "a")
        place.ready_agent()
        (entry,) = place.agents()
        yield _question(entry)
        yield from _flood(entry)
        yield from _page(place, entry)
    yield from _echo()
    yield from _many()


@contextmanager
def _watching(entry: Entry, *topics: str) -> Iterator[ClientConnection]:
    with unix_connect(str(entry["socket"]), "ws://localhost/ws", max_size=None) as socket:
        socket.send(json.dumps({"id": 0, "subscribe": list(topics)}))
        yield socket


def _question(entry: Entry) -> Row:
    """From the frame of the screen that shows the question to the question itself."""
    taken = []
    with _watching(entry, "screen", "question", "task") as socket:
        for number in range(QUESTIONS):
            socket.send(json.dumps({"id": number + 1, "send": f"confirm Number {number}?"}))
            shown = 0.0
            while True:
                text = str(socket.recv(timeout=60))
                frame = json.loads(text)
                if frame["type"] == "screen" and not shown and f"Number {number}? (y/n)" in text:
                    shown = time.perf_counter()
                if frame["type"] == "question" and frame["question"]:
                    taken.append(max(time.perf_counter() - shown, 0.0) if shown else 0.0)
                    break
            answer = {"question": frame["question"]["id"], "answer": "y"}
            socket.send(json.dumps({"id": 100 + number, "answer": answer}))
            while (frame := json.loads(socket.recv(timeout=60)))["type"] != "task" or (
                frame["task"]["state"] != "completed"
            ):
                pass
    middle = statistics.median(taken) * 1000
    return Row("question on the screen to /ws, p50", "ms", {SYNAPSE: middle}, "at most 300", middle <= 300)


def _flood(entry: Entry) -> Iterator[Row]:
    """The host's processor time for a flood of output, without and with a viewer, and what that gets."""
    host = proc.host_of(int(str(entry["pid"])))
    times, received = [], 0
    for has_viewer in (False, True):
        with ExitStack() as stack, _watching(entry, "task") as tasks:
            viewer = stack.enter_context(_watching(entry, "screen")) if has_viewer else None
            before = proc.cpu_seconds(host)
            tasks.send(json.dumps({"id": 1, "send": f"flood {FLOOD}"}))
            _wait_for_end(tasks)
            times.append(proc.cpu_seconds(host) - before)
            if viewer is not None:
                received = _pending(viewer)
    yield Row(f"host, {FLOOD} MB of output, no viewer", "s of CPU", {SYNAPSE: times[0]})
    yield Row("same, one viewer", "s of CPU", {SYNAPSE: times[1]})
    yield Row("same, sent to the viewer", "MB", {SYNAPSE: received / 1e6}, "at most 2", received <= 2e6)


def _wait_for_end(tasks: ClientConnection) -> None:
    """Until the task that was sent last has ended."""
    task = ""
    while True:
        frame = json.loads(tasks.recv(timeout=120))
        if frame["type"] == "ok" and "task" in frame:
            task = frame["task"]["id"]
        elif frame["type"] == "task" and (frame["task"]["id"], frame["task"]["state"]) == (task, "completed"):
            return


def _pending(viewer: ClientConnection) -> int:
    total = 0
    try:
        while True:
            total += len(viewer.recv(timeout=1, decode=False))
    except TimeoutError:
        return total


@contextmanager
def _view(place: Place) -> Iterator[tuple[str, int]]:
    process = subprocess.Popen(
        [COMMAND, "view", "--port", "0"], env=place.env, cwd=place.path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        yield found.group(), process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


_FIRST_ROWS = """() => new Promise(done => {
  const look = () => {
    if (document.querySelector('.rows .row')?.textContent.trim()) done(performance.now());
    else setTimeout(look, 2);
  };
  look();
})"""
_ECHO = """async (keys) => {
  const field = document.querySelector('textarea.keys'), rows = document.querySelector('.rows'), taken = [];
  field.focus();
  for (let n = 0; n < keys; n++) {
    const began = performance.now();
    const echoed = new Promise(done => new MutationObserver((_, o) => { o.disconnect(); done(); })
      .observe(rows, {childList: true, subtree: true, characterData: true}));
    field.value = 'x';
    field.dispatchEvent(new InputEvent('input', {data: 'x'}));
    await echoed;
    taken.push(performance.now() - began);
    await new Promise(done => setTimeout(done, 60));
  }
  return taken;
}"""


def _page(place: Place, entry: Entry) -> Iterator[Row]:
    program = shutil.which("chromium")
    if program is None:
        yield Row("page: first rows", "ms", {}, "at most 200", None, ["no chromium: the page was left out"])
        return
    from playwright.sync_api import sync_playwright

    with _view(place) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page()
        page.goto(url)
        loads = []
        for _ in range(PAGES):
            page.reload()
            loads.append(float(page.evaluate(_FIRST_ROWS)))
        echoes = [float(ms) for ms in page.evaluate(_ECHO, KEYS)]
        browser.close()
    with _watching(entry, "screen") as socket:
        socket.send(json.dumps({"id": 1, "keys": ["C-u"]}))
    first, echo = statistics.median(loads[1:]), statistics.median(echoes)
    yield Row("page: navigation to first rows", "ms", {SYNAPSE: first}, "at most 200", first <= 200)
    yield Row("page: key to echo, p50", "ms", {SYNAPSE: echo}, "at most 50", echo <= 50)


def _echo() -> Iterator[Row]:
    """At the agent's own terminal, without viewers and with three."""
    with Place() as place:
        terminal = place.open(SYNAPSE, f"{PYTHON} -I -S {place.file('agent.py', _AGENT)}")
        terminal.wait_for("to your keys")
        entry = place.ready_agent()
        _measure(terminal, 50)
        alone, watched = [], []
        for _ in range(ECHO_ROUNDS):
            alone.append(percentile(_measure(terminal, ECHO_KEYS), 50))
            with ExitStack() as stack:
                for _ in range(VIEWERS):
                    stack.enter_context(_watching(entry, "screen", "status"))
                watched.append(percentile(_measure(terminal, ECHO_KEYS), 50))
    without, with_them = statistics.median(alone), statistics.median(watched)
    yield Row("echo at its own terminal, no viewer, p50", "µs", {SYNAPSE: without})
    goal = "at most 1.2 x without"
    met = with_them <= 1.2 * without
    yield Row(f"same, {VIEWERS} viewers, p50", "µs", {SYNAPSE: with_them}, goal, met)


def _many() -> Iterator[Row]:
    """Registry entries with small stand-in servers."""
    with Place() as place:
        yield from asyncio.run(_stand_in(place))


async def _stand_in(place: Place) -> list[Row]:
    registry = AgentRegistry(f"{place.path}/a2a/registry")
    async with asyncio.TaskGroup() as group:
        ending = asyncio.Event()
        ready = [asyncio.Event() for _ in range(MANY)]
        for number in range(MANY):
            group.create_task(_agent(registry, place.path, number, ready[number], ending))
        for each in ready:
            await each.wait()
        try:
            return [
                *await asyncio.to_thread(_measure_many, place),
                *await asyncio.to_thread(_measure_top, place),
            ]
        finally:
            ending.set()


async def _agent(
    registry: AgentRegistry, folder: str, number: int, ready: asyncio.Event, ending: asyncio.Event
) -> None:
    name, path = f"agent{number}", f"{folder}/{number}.http"

    async def serve(socket: ServerConnection) -> None:
        frame: dict[str, Any] = {"type": "status", "n": 1, "status": "READY", "since": "2026-01-01T00:00:00Z"}
        await socket.recv()
        await socket.send(json.dumps({**frame, "agent": {"name": name}, "work": None}))
        await socket.wait_closed()

    async with unix_serve(serve, path):
        agent_id = registry.get_agent_id("dummy", folder, number + 1)
        registry.register(agent_id, "dummy", 20000 + number, "READY", name=name, socket=path)
        ready.set()
        await ending.wait()
        registry.unregister(agent_id)


def _measure_many(place: Place) -> list[Row]:
    import httpx

    with _view(place) as (url, pid):
        response = httpx.get(url, follow_redirects=False, trust_env=False)
        headers = {"Cookie": response.headers["set-cookie"].partition(";")[0]}
        time.sleep(3)
        uri = url.partition("/?")[0].replace("http", "ws") + "/ws"
        began = time.perf_counter()
        with connect(uri, additional_headers=headers, proxy=None) as socket:
            known: set[str] = set()
            while len(known) < MANY:
                frame = json.loads(socket.recv(timeout=30))
                if frame["type"] == "agent":
                    known.add(frame["agent"]["name"])
            taken = (time.perf_counter() - began) * 1000
            before, started = proc.cpu_seconds(pid), time.perf_counter()
            time.sleep(5)
            share = (proc.cpu_seconds(pid) - before) / (time.perf_counter() - started) * 100
        memory = proc.memory(pid)[0]
    return [
        Row(f"view: {MANY} agents, until a page has them all", "ms", {SYNAPSE: taken}),
        Row(f"view: {MANY} agents, memory", "MB", {SYNAPSE: memory}),
        Row(f"view: {MANY} idle agents, processor", "%", {SYNAPSE: share}),
    ]


def _measure_top(place: Place) -> list[Row]:
    terminal = Terminal([COMMAND, "top"], place.env, place.path, redraws=True)
    try:
        taken = (terminal.wait_for(f"{MANY} idle") - terminal.started) * 1000
        terminal.settle(2.0)
        before, started = proc.cpu_seconds(terminal.pid), time.perf_counter()
        terminal.settle(5.0)
        share = (proc.cpu_seconds(terminal.pid) - before) / (time.perf_counter() - started) * 100
        memory = proc.memory(terminal.pid)[0]
    finally:
        terminal.close()
    return [
        Row(f"top: {MANY} agents, from its start until it has them all", "ms", {SYNAPSE: taken}),
        Row(f"top: {MANY} agents, memory", "MB", {SYNAPSE: memory}),
        Row(f"top: {MANY} idle agents, processor", "%", {SYNAPSE: share}),
    ]
