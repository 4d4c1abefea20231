"""One viewer: a WebSocket on which an agent's events and screen go out, and requests come in."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.types import Receive, Send

from synapse.server.live.event_feed import TOPICS, encoded
from synapse.server.live.live import Live
from synapse.tasks.task import BadMessage, Json, TaskError

SCREEN = "screen"
WAITING = 64  # responses that a client has not read yet; then its requests wait
ACTIONS = ("subscribe", "send", "answer", "keys", "paste", "rows")


class BadFrame(TaskError):
    code = "BAD_FRAME"


class Viewer:
    """It reads events from the feeds at its own pace, so that a client that does not read costs no memory: it
    gets the screen as it is when it reads again, and `lagged` if events were dropped in the meantime."""

    def __init__(self, live: Live, receive: Receive, send: Send) -> None:
        self._live = live
        self._receive = receive
        self._send = send
        self._news = asyncio.Event()
        self._room = asyncio.Event()  # for another response
        self._out: deque[str] = deque()  # responses and snapshots, which go first
        self._topics: set[str] = set()
        self._seen = 0  # the number of the last event
        self._frame: int | None = None  # the last frame of the screen; None: not subscribed
        self._by = "a viewer"
        self._working: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        if (await self._receive())["type"] != "websocket.connect":
            return
        await self._send({"type": "websocket.accept"})
        self._live.events.watch(self._news.set)
        sending = asyncio.create_task(self._send_all())
        receiving = asyncio.create_task(self._take_all())
        try:
            await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._live.events.leave(self._news.set)
            self._live.screen.leave(self._news.set)
            for task in (sending, receiving, *self._working):
                task.cancel()
            await asyncio.gather(sending, receiving, *self._working, return_exceptions=True)

    async def _send_all(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while (frame := self._next()) is not None:
                await self._send({"type": "websocket.send", "text": frame})

    def _next(self) -> str | None:
        if self._out:
            self._room.set()
            return self._out.popleft()
        events = self._live.events
        if self._topics and not events.has_all_since(self._seen):
            self._start_again()
            return self._out.popleft()
        while self._topics and (event := events.next(self._seen)) is not None:
            self._seen, topic, frame = event
            if topic in self._topics:
                return frame
        screen = self._live.screen
        if self._frame is not None and self._frame < screen.frame:
            frame = screen.since(self._frame)
            self._frame = screen.frame
            return frame
        return None

    def _start_again(self) -> None:
        """Events were dropped that this viewer has not got: the present state comes instead."""
        number = self._live.events.number
        self._out.append(encoded({"type": "lagged", "n": number}))
        self._out.extend(self._live.snapshot(self._topics))
        self._seen = number

    async def _take_all(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                return
            while len(self._out) > WAITING:
                self._room.clear()
                await self._room.wait()
            self._take(message.get("text"))

    def _take(self, text: str | None) -> None:
        request: Any = None
        try:
            if text is None:
                raise BadFrame("a frame is JSON text, not binary data.")
            request = _parsed(text)
            self._do(request)
        except TaskError as error:
            self._refuse(request, error)

    def _do(self, request: Json) -> None:
        asked = [action for action in ACTIONS if action in request]
        if len(asked) != 1:
            raise BadFrame(f"a frame has one of {', '.join(ACTIONS)}.")
        what, wanted, live = asked[0], request[asked[0]], self._live
        if isinstance(by := request.get("by"), str):
            self._by = by[:60]
        if what in ("send", "answer"):
            work = live.send(wanted) if what == "send" else live.answer(wanted)
            working = asyncio.create_task(self._finish(request, work))
            self._working.add(working)
            working.add_done_callback(self._working.discard)
            return
        simple: dict[str, Callable[[], Json]] = {
            "keys": lambda: live.keys(wanted, self._by),
            "paste": lambda: live.paste(wanted, self._by),
            "rows": lambda: live.rows(wanted),
        }
        if what == "subscribe":
            self._subscribe(request)
        else:
            self._respond(request, simple[what]())

    async def _finish(self, request: Json, work: Coroutine[Any, Any, Json]) -> None:
        try:
            self._respond(request, await work)
        except TaskError as error:
            self._refuse(request, error)

    def _subscribe(self, request: Json) -> None:
        """The topics replace those before. Without `after` the present state comes first."""
        topics, after, events = request["subscribe"], request.get("after"), self._live.events
        if not isinstance(topics, list) or not all(t in (*TOPICS, SCREEN) for t in topics):
            raise BadFrame(f"subscribe is a list of {', '.join((*TOPICS, SCREEN))}.")
        if after is not None and (not isinstance(after, int) or isinstance(after, bool)):
            raise BadFrame("after is the number n of the last event that was received.")
        self._topics = {str(topic) for topic in topics} - {SCREEN}
        self._live.screen.leave(self._news.set)
        self._frame = None
        self._respond(request, {"n": events.number})
        if self._topics and after is None:
            self._out.extend(self._live.snapshot(self._topics))
            self._seen = events.number
        elif after is not None:
            self._seen = after  # `_next` finds out whether all of them are kept
        if SCREEN in topics:
            self._frame = 0
            self._live.screen.watch(self._news.set)
        self._news.set()

    def _respond(self, request: Json, more: Json) -> None:
        self._out.append(encoded({"type": "ok", "id": request.get("id"), **more}))
        self._news.set()

    def _refuse(self, request: Any, error: TaskError) -> None:
        number = request.get("id") if isinstance(request, dict) else None
        frame = {"type": "error", "id": number, "code": error.code, "detail": str(error)}
        self._out.append(encoded(frame))
        self._news.set()


def _parsed(text: str) -> Json:
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        raise BadFrame("the frame is not JSON.") from None
    if not isinstance(request, dict):
        raise BadFrame("a frame is a JSON object.")
    if not isinstance(request.get("id"), str | int | float | None):
        raise BadMessage("an id is a number or a text.")
    return request
