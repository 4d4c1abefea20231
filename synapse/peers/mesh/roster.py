"""The agents of the mesh, as the key-value bucket has them, and the file in which this machine keeps them.

The file is kept up to date by one of this machine's hosts (`mesh/watch.py`). Without a running agent a
command reads the bucket itself. An agent whose entry has expired stays in the file as stale: its machine
sleeps, and a message to it waits in its mailbox.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from synapse.base import files, paths
from synapse.errors import NoSuchAgent, SynapseError, TargetError
from synapse.peers.mesh import membership
from synapse.peers.mesh.link import Link, linked
from synapse.peers.mesh.membership import Membership
from synapse.peers.mesh.names import HEADER, KV_OPERATION, VERSION, kv_stream, kv_subject
from synapse.peers.task import Json

# Whether this process is a host: a host never waits, since one of them keeps the file (`mesh/watch.py`).
is_kept = False

FRESH = 5.0  # seconds that the file is good for; a host touches it every second
LOOK = 5.0  # seconds at most until the bucket is read
STALE_KEPT = 7 * 24 * 3600.0  # seconds that an agent is remembered whose machine sleeps
_BATCH = 5000


@dataclass(frozen=True)
class MeshAgent:
    """An entry of the bucket. `key` names its mailbox; `accepts` says what it takes and from whom."""

    id: str
    key: str
    name: str
    type: str
    machine: str
    directory: str = ""
    status: str = ""
    skills: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    version: str = ""
    instance: str = ""
    stale: bool = False
    seen: float = 0.0  # when the last entry came, by this machine's clock

    @property
    def address(self) -> str:
        return f"{self.name}@{self.machine}"

    @classmethod
    def of(cls, told: Any) -> MeshAgent | None:
        """None for what is no entry: others may write too."""
        if not isinstance(told, dict):
            return None
        found: Json = {}
        for item in fields(cls):
            value = told.get(item.name, item.default)
            if isinstance(value, list):
                value = tuple(str(each)[:200] for each in value[:50])
            elif isinstance(value, str):
                value = value[:1000]
            found[item.name] = value
        texts = ("id", "key", "name", "type", "machine")
        return cls(**found) if all(isinstance(found[t], str) and found[t] for t in texts) else None

    def to_dict(self) -> Json:
        return asdict(self)


def entry_of(subject: str, headers: Any, data: bytes, bucket: str) -> tuple[str, MeshAgent | None]:
    """The key of an entry (`machine.agent`) and its agent; None if it was removed, is no entry, or names
    another machine than its key, which only that machine can write."""
    key = subject.removeprefix(f"{kv_subject(bucket)}.")
    if (headers or {}).get(HEADER) != VERSION or (headers or {}).get(KV_OPERATION):
        return key, None
    try:
        agent = MeshAgent.of(json.loads(data))
    except (ValueError, RecursionError):
        return key, None
    return key, agent if agent and key == f"{agent.machine}.{agent.key}" else None


Entries = dict[str, MeshAgent | None]  # by key; None for an agent that has ended


async def read_bucket(link: Link) -> Entries:
    """All entries, through a consumer that the server soon forgets."""
    found: Entries = {}
    for message in await last_messages(link, kv_stream(link.names.agents)):
        key, agent = entry_of(message.subject, message.headers, message.data, link.names.agents)
        found[key] = replace(agent, seen=time.time()) if agent else None
    return found


async def last_messages(link: Link, stream: str) -> list[Any]:
    """All messages of a bucket."""
    made = await link.api(
        f"CONSUMER.CREATE.{stream}",
        {
            "stream_name": stream,
            "config": {
                "deliver_policy": "all",  # a bucket keeps one message of each subject
                "ack_policy": "none",
                "mem_storage": True,
                "inactive_threshold": 5_000_000_000,
            },
        },
    )
    count = int(made.get("num_pending") or 0)
    messages: list[Any] = []
    done = asyncio.Event()

    async def take(message: Any) -> None:
        if (message.headers or {}).get("Status"):
            done.set()
            return
        messages.append(message)
        if len(messages) >= count:
            done.set()

    if not count:
        return []
    client = await link.ready()
    inbox = client.new_inbox()
    end = await link.subscribe(inbox, take)
    try:
        body = json.dumps({"batch": min(count, _BATCH), "no_wait": True}).encode()
        await link.send(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{made['name']}", body, reply=inbox)
        async with asyncio.timeout(LOOK):
            await done.wait()
    finally:
        await end()
    return messages


class Roster:
    """The agents as this machine knows them. Reads the file again when it has changed."""

    def __init__(self, member: Membership) -> None:
        self.member = member
        self.folder = membership.folder()
        self.path = os.path.join(self.folder, "agents.json")
        self._read_at = 0
        self._agents: list[MeshAgent] = []

    def agents(self, patience: float = LOOK) -> list[MeshAgent]:
        """All of the other machines. Of this machine the registry knows more."""
        self._refresh(patience)
        changed = files.changed_ns(self.path)
        if changed != self._read_at:
            told = files.read_object(self.path).get("agents")
            found = (MeshAgent.of(each) for each in told) if isinstance(told, list) else ()
            self._agents = [agent for agent in found if agent is not None]
            self._read_at = changed
        return [agent for agent in self._agents if agent.machine != self.member.machine]

    def find(self, name: str) -> MeshAgent:
        """`agent@machine`, where agent is a name, a type or the beginning of an id."""
        try:
            return self._found(name)
        except NoSuchAgent:  # it may have started since the file was written
            self._refresh(LOOK, fresh=0.0)
            return self._found(name)

    def _found(self, name: str) -> MeshAgent:
        wanted, _, machine = name.casefold().partition("@")
        there = [agent for agent in self.agents() if agent.machine == machine]
        for found in (
            [a for a in there if wanted in (a.name.casefold(), a.id)],
            [a for a in there if a.type.casefold() == wanted],
            [a for a in there if len(wanted) >= 4 and a.id.startswith(wanted)],
        ):
            running = [agent for agent in found if not agent.stale] or found
            if len(running) == 1:
                return running[0]
            if running:
                names = ", ".join(f"{a.address} ({a.directory})" for a in running)
                raise TargetError(f"{name!r} could be any of {names}: use one of these names.")
        known = ", ".join(agent.address for agent in there)
        where = f"there are {known}" if known else f"the mesh knows no agent of {machine!r}"
        raise NoSuchAgent(f"no agent {name!r} is in the mesh: {where}.")

    def by_id(self, agent_id: str, machine: str = "") -> MeshAgent | None:
        found = (a for a in self.agents() if a.id == agent_id and machine in ("", a.machine))
        return next(found, None)

    def write(self, agents: Iterable[MeshAgent]) -> None:
        """Replace the file if its content changes; else only its time, which says that it is fresh."""
        kept = sorted((agent.to_dict() for agent in agents), key=lambda told: str(told["id"]))
        timeless = [{**told, "seen": 0.0 if not told["stale"] else told["seen"]} for told in kept]
        old = files.read_object(self.path)
        if old.get("agents") == timeless and old.get("team") == self.member.team:
            os.utime(self.path)
            return
        paths.private_dir(self.folder)
        document = {"team": self.member.team, "agents": timeless}
        files.replace(self.path, json.dumps(document, ensure_ascii=False).encode())

    def touch(self) -> None:
        """What is known is the newest that can be known."""
        if os.path.exists(self.path):
            os.utime(self.path)

    def _refresh(self, patience: float, fresh: float = FRESH) -> None:
        if is_kept:
            return
        age = time.time() - files.changed_ns(self.path) / 1e9
        if 0 <= age < fresh:
            return
        # In a thread: the caller may be in an event loop, and must not wait longer than this.
        reading = threading.Thread(target=self._read_in_thread, daemon=True)
        reading.start()
        reading.join(patience)

    def _read_in_thread(self) -> None:
        try:
            asyncio.run(self.update())
        except (SynapseError, OSError, TimeoutError):
            pass  # what is known is shown; sending a message reports what is wrong

    async def update(self) -> None:
        """Read the bucket, and write the file."""
        async with asyncio.timeout(LOOK), linked(self.member) as link:
            await link.ready(LOOK)
            self.write(with_stale(await read_bucket(link), self.known()))

    def known(self) -> list[MeshAgent]:
        told = files.read_object(self.path).get("agents")
        found = (MeshAgent.of(each) for each in told) if isinstance(told, list) else ()
        return [agent for agent in found if agent is not None]


def with_stale(found: Entries, known: Iterable[MeshAgent]) -> list[MeshAgent]:
    """The agents of the bucket, and those whose whole machine has expired. If other agents of a machine are
    there, one that is missing has ended."""
    now = time.time()
    running = [agent for agent in found.values() if agent is not None]
    awake = {agent.machine for agent in running}
    asleep = [
        replace(agent, stale=True, seen=agent.seen or now)
        for agent in known
        if f"{agent.machine}.{agent.key}" not in found
        and agent.machine not in awake
        and now - (agent.seen or now) < STALE_KEPT
    ]
    return [*running, *asleep]
