"""Telling others by HTTP what becomes of a task: push notifications, and the callback of the other dialect.

Off the task's path: an event is put in a line, and each address has its own line. What cannot be delivered is
tried again a few times, ever more slowly, then given up with a word in the log. Which addresses a task has is
in the store; what waits in a line is not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
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
TIMEOUT = 10.0
LINE = 256  # notifications that wait for one address
LINES = 1000  # addresses that are being told something
TOKEN_HEADER = "X-A2A-Notification-Token"

Check = Callable[[str], Awaitable[Pinned | None]]
Render = Callable[[Task, SSEEvent, str], Json | None]


class PushSender:
    """`check` raises UrlRefused, or gives the addresses that it has found good; `render` makes the document
    for a task's event in the version that was asked for, or None if it is not worth telling."""

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
        self._configs: dict[str, dict[str, Json]] = {}  # of the tasks that are under way
        self._lines: dict[tuple[str, str], deque[tuple[Json, bytes]]] = {}
        self._workers: set[asyncio.Task[Any]] = set()
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    # --- who is told --------------------------------------------------------------------------------------

    def configs(self, task_id: str) -> dict[str, Json]:
        return self._store.push_configs(task_id)

    def set_config(self, task_id: str, config: Json) -> Json:
        """The same id replaces."""
        config = {**config, "id": config.get("id") or "default"}
        self._store.set_push_config(task_id, config["id"], config)
        self._configs.pop(task_id, None)
        return config

    def remove_config(self, task_id: str, config_id: str) -> None:
        self._store.remove_push_config(task_id, config_id)
        self._configs.pop(task_id, None)
        self._lines.get((task_id, config_id), deque()).clear()

    # --- telling ------------------------------------------------------------------------------------------

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        if event.event_type not in ("status", "artifact"):
            return
        configs = self._configs.get(task.id)
        if configs is None:
            configs = self._configs[task.id] = self.configs(task.id)
        if task.ended:
            self._configs.pop(task.id, None)
        for config in configs.values():
            document = self._render(task, event, config["version"])
            if document is not None:
                self._put(task.id, config, json.dumps(document, ensure_ascii=False).encode())

    def _put(self, task_id: str, config: Json, body: bytes) -> None:
        key = (task_id, config["id"])
        line = self._lines.get(key)
        if line is not None:
            line.append((config, body))
            return
        if len(self._lines) >= LINES:
            logger.warning("%s is not told of task %s: too many wait to be told", config["url"], task_id)
            return
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

    def post_soon(self, url: str, body: Json | bytes, headers: Mapping[str, str] | None = None) -> None:
        """`post`, by itself."""
        self._run(self.post(url, body, headers))

    async def post(self, url: str, body: Json | bytes, headers: Mapping[str, str] | None = None) -> bool:
        """Deliver a document, however often it takes within reason. Whether it arrived."""
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
        logger.warning("could not deliver to %s: %s", _bare(url), why)
        return False

    async def _once(
        self, url: str, pinned: Pinned | None, content: bytes, headers: Mapping[str, str]
    ) -> tuple[str, bool]:
        """What went wrong, if anything, and whether to try again."""
        import httpx  # most hosts never push

        async with self._opening:
            if self._client is None:  # in a thread: reading the certificates takes 50 ms
                self._client = await asyncio.to_thread(_client)
        more: Json = {}
        if pinned is not None:  # the name could mean another address by now
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

    # --- within -------------------------------------------------------------------------------------------

    def _run(self, work: Any) -> None:
        worker = asyncio.get_running_loop().create_task(work)
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def close(self) -> None:
        """Give up what waits."""
        for worker in list(self._workers):
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()


def _client() -> httpx.AsyncClient:
    """No proxy of the environment, no redirect: the address that was checked is the one that is told."""
    import httpx

    return httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=False, trust_env=False)


def _headers(config: Json) -> dict[str, str]:
    found = {"Content-Type": "application/a2a+json" if config["version"] == "1.0" else "application/json"}
    if config.get("token"):
        found[TOKEN_HEADER] = config["token"]
    auth = config.get("authentication") or {}
    if auth.get("scheme") and auth.get("credentials"):
        found["Authorization"] = f"{auth['scheme']} {auth['credentials']}"
    return found


def _bare(url: str) -> str:
    """Without what may be a secret."""
    return url.partition("?")[0].rpartition("@")[2]
