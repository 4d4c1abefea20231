"""Sends task changes to other servers: push notifications, and callbacks of the specifications' endpoints.

Sending does not delay the task: each address of a task has a line of its own. What cannot be delivered is
sent again with growing pauses for a day, by this host or the next, then dropped and logged. The store has it.
"""

import asyncio
import json
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from synapse.base.digest import sha256_hex
from synapse.base.urls import Pinned, UrlRefused, UrlUnresolved
from synapse.event_emitter import SSEEvent
from synapse.tasks.outbox import Document, Owed
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json, Task

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 600.0  # seconds; doubled each time
TIMEOUT = 10.0  # seconds
LINE = 256  # notifications that wait for one address
LINES = 1000  # addresses with waiting notifications; then the oldest is dropped
DEFAULT = "default"  # the id of a configuration that has none
TOKEN_HEADER = "X-A2A-Notification-Token"

Check = Callable[[str], Awaitable[Pinned | None]]
Render = Callable[[Task, SSEEvent, str], Json | None]


@dataclass(eq=False, repr=False)
class _Line:
    """The documents for one address of one task."""

    waiting: deque[Owed] = field(default_factory=deque)
    failures: int = 0  # in a row
    worker: asyncio.Task[None] | None = None


class DocumentSender:
    """Sends documents of one kind. `check` returns the checked addresses of a URL, or raises UrlRefused."""

    def __init__(self, store: TaskStore, kind: str, check: Check, pause: float = FIRST_PAUSE) -> None:
        self.kind = kind
        self.check = check
        self._store = store
        self._pause = pause
        self._lines: dict[str, _Line] = {}
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    def send(self, owed: list[Owed]) -> None:
        for each in owed:
            if (line := self._lines.get(each.line)) is None:
                line = self._new_line(each.line)
            line.waiting.append(each)
            if len(line.waiting) > LINE:
                self._give_up(line.waiting[1], "too many are waiting")  # the first is being sent
                del line.waiting[1]

    def _new_line(self, name: str) -> _Line:
        if len(self._lines) >= LINES:
            self._forget(next(iter(self._lines)), "too many are waiting")
        self._lines[name] = line = _Line()
        line.worker = asyncio.get_running_loop().create_task(self._work(name, line))
        return line

    def _forget(self, name: str, why: str = "") -> None:
        line = self._lines.pop(name, _Line())
        if line.worker is not None:
            line.worker.cancel()
        for owed in line.waiting:
            self._give_up(owed, why)

    async def _work(self, name: str, line: _Line) -> None:
        while line.waiting:
            first = line.waiting[0]
            await self._deliver(first, line)
            self._store.settle(first)
            line.waiting.popleft()
        del self._lines[name]

    async def _deliver(self, owed: Owed, line: _Line) -> None:
        """Returns when it has arrived, was refused, or is too old."""
        content, again = owed.body.encode(), True
        headers = {"Content-Type": "application/json", **owed.headers}
        why = "it is too old"
        while again and not self._store.is_old(owed):
            if line.failures:
                pause = min(self._pause * 2 ** min(line.failures - 1, 20), LONGEST_PAUSE)
                await asyncio.sleep(pause * random.uniform(0.8, 1.2))
            try:
                pinned = await self.check(owed.url)
                why, again = await self._once(owed.url, pinned, content, headers)
            except UrlRefused as error:
                why, again = str(error), isinstance(error, UrlUnresolved)
            if not why:
                line.failures = 0
                return
            line.failures += again
        line.failures = 0
        self._give_up(owed, why)

    def _give_up(self, owed: Owed, why: str) -> None:
        self._store.settle(owed)
        if why:
            bare = owed.url.partition("?")[0].rpartition("@")[2]  # without parts that may be secret
            logger.warning("could not deliver to %s: %s", bare, why)

    async def drain(self) -> None:
        """Until everything that is owed has arrived, or has failed twice. The next host sends the rest."""
        while any(line.failures < 2 for line in self._lines.values()):
            await asyncio.sleep(0.02)

    async def _once(
        self, url: str, pinned: Pinned | None, content: bytes, headers: Mapping[str, str]
    ) -> tuple[str, bool]:
        import httpx  # most hosts never push

        async with self._opening:
            if self._client is None:
                # Without proxies and redirects, so that it sends to no other than the checked address. In a
                # thread, because reading the certificates takes 50 ms.
                self._client = await asyncio.to_thread(
                    httpx.AsyncClient, timeout=TIMEOUT, follow_redirects=False, trust_env=False
                )
        more: Json = {}
        if pinned is not None:  # use the checked address: the name may have another one by now
            url, headers = pinned.direct(pinned.addresses[0]), {**headers, "Host": pinned.host_header}
            more = {"sni_hostname": pinned.host}
        try:
            async with self._client.stream(
                "POST", url, content=content, headers=headers, extensions=more
            ) as response:
                status = response.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{type(error).__name__} {error}".strip(), not isinstance(error, httpx.InvalidURL)
        if status < 300:
            return "", False
        return f"it answered {status}", status >= 500 or status in (408, 425, 429)

    async def close(self) -> None:
        workers = [line.worker for line in self._lines.values() if line.worker is not None]
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()


class PushSender(DocumentSender):
    """Push notifications. `render` makes the document for a task's event in the client's version of the
    protocol, or None if the event is not sent."""

    def __init__(self, store: TaskStore, check: Check, render: Render, pause: float = FIRST_PAUSE) -> None:
        super().__init__(store, "push notification", check, pause)
        self._render = render
        self._configs: dict[str, dict[str, Json]] = {}  # of the tasks that have not ended
        store.add_sender(self)

    def configs(self, task_id: str) -> dict[str, Json]:
        return self._store.push_configs(task_id)

    def set_config(self, task_id: str, config: Json) -> Json:
        """One without an id gets one of its own: it replaces none, unless all of it is the same."""
        config = {**config, "id": config.get("id") or _id_for(config, self.configs(task_id))}
        self._store.set_push_config(task_id, config["id"], config)
        self._configs.pop(task_id, None)
        return config

    def remove_config(self, task_id: str, config_id: str) -> None:
        self._store.remove_push_config(task_id, config_id)
        self._configs.pop(task_id, None)
        self._forget(f"{task_id}/{config_id}")

    def owed(self, task: Task, event: SSEEvent) -> list[Document]:
        if event.event_type not in ("status", "artifact"):
            return []
        if task.id not in self._configs:
            self._configs[task.id] = self.configs(task.id)
        configs = self._configs.pop(task.id) if task.ended else self._configs[task.id]
        return [
            Document(f"{task.id}/{config['id']}", config["url"], _headers(config), document)
            for config in configs.values()
            if (document := self._render(task, event, config["version"])) is not None
        ]


def _id_for(config: Json, others: Mapping[str, Json]) -> str:
    """`default` for the first one, as clients of 0.3 expect; for others an id that their content gives."""
    first = others.get(DEFAULT, {})
    if all(first.get(key) == config.get(key) for key in ("url", "token", "authentication") if first):
        return DEFAULT
    return sha256_hex(json.dumps(config, sort_keys=True))[:16]


def _headers(config: Json) -> dict[str, str]:
    found = {"Content-Type": "application/a2a+json" if config["version"] == "1.0" else "application/json"}
    if config.get("token"):
        found[TOKEN_HEADER] = config["token"]
    auth = config.get("authentication") or {}
    if auth.get("scheme") and auth.get("credentials"):
        found["Authorization"] = f"{auth['scheme']} {auth['credentials']}"
    return found
