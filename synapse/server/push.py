"""Sends task changes to other servers: push notifications, and callbacks of the specifications' endpoints.

Sending does not delay the task: each address has a queue of its own. A notification that cannot be delivered
is sent again a few times, with growing pauses, and then dropped and logged. The store has the addresses of a
task; the queues are not stored.
"""

import asyncio
import json
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from synapse.base.urls import Pinned, UrlRefused, UrlUnresolved
from synapse.event_emitter import SSEEvent
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json, Task

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

ATTEMPTS = 8
FIRST_PAUSE = 0.5  # seconds, doubled each time
TIMEOUT = 10.0  # seconds
LINE = 256  # notifications that wait for one address
LINES = 1000  # addresses with waiting notifications
TOKEN_HEADER = "X-A2A-Notification-Token"

Check = Callable[[str], Awaitable[Pinned | None]]
Render = Callable[[Task, SSEEvent, str], Json | None]


class PushSender:
    """`check` returns the checked addresses of a URL, or raises UrlRefused. `render` makes the document for a
    task's event in the client's version of the protocol, or None if the event is not sent."""

    def __init__(
        self,
        store: TaskStore,
        check: Check,
        render: Render,
        attempts: int = ATTEMPTS,
        pause: float = FIRST_PAUSE,
    ) -> None:
        self.check = check
        self._store = store
        self._render = render
        self._attempts = attempts
        self._pause = pause
        self._configs: dict[str, dict[str, Json]] = {}  # of the tasks that have not ended
        self._lines: dict[tuple[str, str], deque[tuple[Json, bytes]]] = {}
        self._workers: set[asyncio.Task[Any]] = set()
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    def configs(self, task_id: str) -> dict[str, Json]:
        return self._store.push_configs(task_id)

    def set_config(self, task_id: str, config: Json) -> Json:
        config = {**config, "id": config.get("id") or "default"}
        self._store.set_push_config(task_id, config["id"], config)
        self._configs.pop(task_id, None)
        return config

    def remove_config(self, task_id: str, config_id: str) -> None:
        self._store.remove_push_config(task_id, config_id)
        self._configs.pop(task_id, None)
        self._lines.get((task_id, config_id), deque()).clear()

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        if event.event_type not in ("status", "artifact"):
            return
        if task.id not in self._configs:
            self._configs[task.id] = self.configs(task.id)
        configs = self._configs.pop(task.id) if task.ended else self._configs[task.id]
        for config in configs.values():
            document = self._render(task, event, config["version"])
            if document is not None:
                self._put(task.id, config, json.dumps(document, ensure_ascii=False).encode())

    def _put(self, task_id: str, config: Json, body: bytes) -> None:
        key = (task_id, config["id"])
        if key in self._lines:
            self._lines[key].append((config, body))
        elif len(self._lines) >= LINES:
            logger.warning("no notification of task %s to %s: too many are waiting", task_id, config["url"])
        else:
            self._lines[key] = deque([(config, body)], maxlen=LINE)
            self._run(self._drain(key))

    async def _drain(self, key: tuple[str, str]) -> None:
        line = self._lines[key]
        try:
            while line:
                config, body = line.popleft()
                await self.post(config["url"], body, _headers(config))
        finally:
            del self._lines[key]

    def post_soon(self, url: str, body: Json) -> None:
        self._run(self.post(url, body))

    async def post(self, url: str, body: Json | bytes, headers: Mapping[str, str] | None = None) -> bool:
        """Deliver a document in several attempts. Returns whether it arrived."""
        content = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        sent = {"Content-Type": "application/json", **(headers or {})}
        why = ""
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._pause * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))
            try:
                pinned = await self.check(url)
                why, again = await self._once(url, pinned, content, sent)
            except UrlRefused as error:
                why, again = str(error), isinstance(error, UrlUnresolved)
            if not why:
                return True
            if not again:
                break
        bare = url.partition("?")[0].rpartition("@")[2]  # without parts that may be secret
        logger.warning("could not deliver to %s: %s", bare, why)
        return False

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

    def _run(self, work: Coroutine[Any, Any, object]) -> None:
        worker = asyncio.get_running_loop().create_task(work)
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def close(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()


def _headers(config: Json) -> dict[str, str]:
    found = {"Content-Type": "application/a2a+json" if config["version"] == "1.0" else "application/json"}
    if config.get("token"):
        found[TOKEN_HEADER] = config["token"]
    auth = config.get("authentication") or {}
    if auth.get("scheme") and auth.get("credentials"):
        found["Authorization"] = f"{auth['scheme']} {auth['credentials']}"
    return found
