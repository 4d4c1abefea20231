"""The mesh: an embedded server on loopback, three machines as three homes, the reference agent."""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, suppress

from benchmarks.table import SYNAPSE, Row
from synapse.peers.base import Peer
from synapse.peers.directory import open_directory
from synapse.peers.mesh.link import linked
from synapse.peers.mesh.membership import Membership, load_membership
from synapse.peers.mesh.names import agent_key
from synapse.peers.mesh.roster import read_bucket
from synapse.peers.origin import Origin
from tests.support.mesh import Mesh, new_mesh

MESSAGES = 1000
AGENTS = 20
LISTED = 1000
SAMPLES = 30
UNDER_WAY = 100  # messages at the same time
MACHINES = ("one", "two", "three")


def run() -> Iterator[Row]:
    with new_mesh(*MACHINES) as mesh:
        names = _start(mesh)
        yield from _delivery(mesh)
        yield from _messages(mesh, names)
        yield from _messages(mesh, names, kill_every=5.0)
        yield from _idle(mesh, names)
        yield from _listing(mesh)
    yield from _memory()


def _row(figure: str, unit: str, value: float, most: float | None = None) -> Row:
    if most is None:
        return Row(figure, unit, {SYNAPSE: value})
    return Row(figure, unit, {SYNAPSE: value}, f"<= {most:g}", value <= most)


def _start(mesh: Mesh) -> list[str]:
    """The agents, spread over the machines."""
    made = []
    for number in range(AGENTS):
        machine = MACHINES[number % len(MACHINES)]
        mesh[machine].run("start", "dummy", "--name", f"m{number}")
        made.append(f"m{number}@{machine}")
    until = time.monotonic() + 120
    while not set(made) <= set(mesh.known(mesh.first)):
        assert time.monotonic() < until, "the agents are not in the mesh"
        time.sleep(0.2)
    for name in made:
        for machine in MACHINES:
            if _machine(name) != machine:
                mesh.wait_listed(machine, name)
    return made


def _delivery(mesh: Mesh) -> Iterator[Row]:
    """Until the agent has stored the message, over the mesh and over its own socket, in turn."""
    over: dict[str, list[float]] = {"mesh": [], "direct": []}

    async def main() -> None:
        member = load_membership()
        assert member is not None
        far = open_directory().find("m1@two")
        near = open_directory().find("m0")
        async with linked(member) as link:  # an agent's host is connected already
            await link.ready(30)
            for number in range(SAMPLES):
                for kind, peer in (("mesh", far), ("direct", near)):
                    began = time.perf_counter()
                    task = await peer.send(f"say {number}")
                    over[kind].append((time.perf_counter() - began) * 1000)
                    await peer.follow(task.id, timeout=60)

    with mesh["one"].ours():
        asyncio.run(main())
    mesh_ms, direct_ms = (statistics.median(over[kind]) for kind in ("mesh", "direct"))
    yield _row("mesh: message until stored by the agent, p50", "ms", mesh_ms)
    yield _row("mesh: the same without the mesh, p50", "ms", direct_ms)
    yield _row("mesh: more than without, p50", "ms", mesh_ms - direct_ms, most=5)


def _messages(mesh: Mesh, names: list[str], kill_every: float = 0.0) -> Iterator[Row]:
    """From the agents of each machine to those of the two others, in turn."""
    pairs = [(one, other) for one in names for other in names if _machine(one) != _machine(other)]
    routes = [pairs[number * 7 % len(pairs)] for number in range(MESSAGES)]
    senders = {name: _member(mesh, _machine(name)) for name in names}
    peers = {route: _peer(mesh, *route) for route in set(routes)}
    round_id = uuid.uuid4().hex[:8]
    ended, kills = threading.Event(), 0

    def kill() -> None:
        nonlocal kills
        while not ended.wait(kill_every):
            with suppress(OSError, ValueError):  # it is being started
                mesh.kill_server()
                kills += 1

    async def one(number: int, limit: asyncio.Semaphore) -> str:
        async with limit:
            said = f"say {round_id}-{number}"
            task = await peers[routes[number]].send(said, wait=True, timeout=300, metadata={})
            if task.text != f"{round_id}-{number}":
                why = f"{task.status}, {task.text[-200:]!r}, {task.error}, {task.receipts[-3:]}"
                print(f"message {number} to {routes[number][1]}: {why}", file=sys.stderr)
            return task.text

    async def main() -> list[str | BaseException]:
        limit = asyncio.Semaphore(UNDER_WAY)
        async with AsyncExitStack() as links:  # as the hosts of the senders are connected already
            for member in {member.machine: member for member in senders.values()}.values():
                await (await links.enter_async_context(linked(member))).ready(30)
            work = (one(number, limit) for number in range(MESSAGES))
            return await asyncio.gather(*work, return_exceptions=True)

    killer = threading.Thread(target=kill, daemon=True)
    if kill_every:
        killer.start()
    began = time.perf_counter()
    try:
        done = asyncio.run(main())
    finally:
        ended.set()
    took = time.perf_counter() - began
    if kill_every:
        killer.join()
        mesh.wait_served()
    for error in [text for text in done if isinstance(text, BaseException)][:3]:
        print(f"a message failed: {type(error).__name__}: {error}", file=sys.stderr)
    right = sum(text == f"{round_id}-{number}" for number, text in enumerate(done))
    what = f"mesh: {MESSAGES} messages between {len(names)} agents"
    if kill_every:
        what += f", server killed {kills} times (every {kill_every:g} s)"
    yield _row(what, "a second", MESSAGES / took)
    yield _row(f"{what}: lost", "messages", MESSAGES - right, most=0)
    yield _row(f"{what}: twice", "messages", _twice(mesh, names, round_id), most=0)


def _machine(name: str) -> str:
    return name.partition("@")[2]


def _member(mesh: Mesh, machine: str) -> Membership:
    with mesh[machine].ours():
        found = load_membership()
    assert found is not None
    return found


def _peer(mesh: Mesh, sender: str, target: str) -> Peer:
    """The target as the agent that sends sees it."""
    name, _, machine = sender.partition("@")
    with mesh[machine].ours():
        origin = Origin(str(mesh[machine].agents()[name]["agent_id"]), name)
        return open_directory(origin).find(target)


def _twice(mesh: Mesh, names: list[str], round_id: str) -> int:
    """Messages of this round that an agent, or two agents, have more than once."""
    texts = []
    for target in names:
        name, _, machine = target.partition("@")
        told = json.loads(mesh[machine].run("tasks", name, "--json", "-n", "2000").stdout)
        texts += re.findall(rf"say ({round_id}-\d+)", " ".join(str(task["message"]) for task in told))
    return len(texts) - len(set(texts))


def _listing(mesh: Mesh) -> Iterator[Row]:
    """Simulated agents of one machine, read by another one that keeps no file."""

    async def main() -> tuple[float, int]:
        member = load_membership()
        assert member is not None
        async with linked(member) as link:
            await link.ready(30)
            entries = []
            for number in range(LISTED):
                agent_id = f"{number:016x}" + "0" * 48
                key = agent_key(agent_id)
                entry = {
                    "id": agent_id,
                    "key": key,
                    "name": f"sim{number}",
                    "type": "dummy",
                    "status": "READY",
                }
                document = {**entry, "machine": member.machine, "directory": "/home/somebody/project"}
                subject = link.names.entry(member.machine, key)
                entries.append(link.publish(subject, json.dumps(document).encode()))
            await asyncio.gather(*entries)
        began = time.perf_counter()
        async with linked(member) as link:  # a command connects first
            await link.ready(30)
            found = await read_bucket(link)
        return time.perf_counter() - began, len(found)

    with mesh["one"].ours():
        took, count = asyncio.run(main())
    yield _row(f"mesh: list {count} agents, with the connection", "s", took, most=0.3)


def _idle(mesh: Mesh, names: list[str]) -> Iterator[Row]:
    """What the server reads and writes while nobody sends; the entries are renewed every 20 seconds."""
    before, began = _bytes(mesh.server_pid), time.monotonic()
    time.sleep(40)
    rate = (_bytes(mesh.server_pid) - before) / (time.monotonic() - began) / len(names)
    yield _row("mesh: idle traffic of an agent, both directions", "bytes/s", rate)


def _bytes(pid: int) -> int:
    """Characters read and written by a process, its files included."""
    with open(f"/proc/{pid}/io") as file:
        told = dict(line.split(": ") for line in file.read().splitlines())
    return int(told["rchar"]) + int(told["wchar"])


def _memory() -> Iterator[Row]:
    """Of the host of an idle agent, with the mesh and without."""
    found: dict[str, list[int]] = {"with": [], "without": []}
    with ExitStack() as stack:
        mesh = stack.enter_context(new_mesh("one", "two"))
        mesh.start("two", "m")
        alone = stack.enter_context(new_mesh("one"))
        alone["one"].run("mesh", "leave")
        alone["one"].run("start", "dummy", "--name", "m")
        time.sleep(12)
        found["with"].append(_host_memory(mesh["two"].processes()))
        found["without"].append(_host_memory(alone["one"].processes()))
    more = (found["with"][0] - found["without"][0]) / 1024
    yield _row("mesh: memory of a host, more than without", "MB", more, most=6)


def _host_memory(pids: list[int]) -> int:
    """Private memory in KB of the process that runs `synapse.host`."""
    for pid in pids:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"synapse.host" not in file.read():
                continue
        with open(f"/proc/{pid}/smaps_rollup") as file:
            rows = [line.split() for line in file if line.startswith(("Private_", "Pss:"))]
        return sum(int(row[1]) for row in rows if row[0].startswith("Private_"))
    raise AssertionError("no host runs")
