"""A viewer of an agent over its WebSocket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect, unix_connect

from synapse.registry import Entry

Frame = dict[str, Any]
PATIENCE = 40.0  # seconds


class Watcher:
    """Sends requests, and keeps the screen as the frames draw it."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[Frame] = []
        self.rows: dict[int, list[Frame]] = {}
        self.screen: Frame = {}
        self._id = 0

    def send(self, **request: Any) -> int:
        self._id += 1
        self.socket.send(json.dumps({"id": self._id, **request}))
        return self._id

    def ask(self, **request: Any) -> Frame:
        number = self.send(**request)
        return self.until(lambda frame: frame["type"] in ("ok", "error") and frame["id"] == number)

    def next(self) -> Frame:
        frame: Frame = json.loads(self.socket.recv(timeout=PATIENCE))
        self.frames.append(frame)
        if frame["type"] == "screen":
            if frame["snapshot"]:
                self.rows = {}
            self.rows |= {int(y): row for y, row in frame["rows"].items()}
            self.screen = frame
        return frame

    def until(self, condition: Callable[[Frame], object]) -> Frame:
        while not condition(frame := self.next()):
            pass
        return frame

    @property
    def text(self) -> str:
        lines = ["".join(span["text"] for span in self.rows.get(y, [])) for y in range(self.screen["lines"])]
        return "\n".join(line.rstrip() for line in lines).rstrip("\n")

    def until_text(self, text: str) -> str:
        while not self.screen or text not in self.text:
            self.next()
        return self.text


@contextmanager
def watching(entry: Entry, *topics: str, **more: Any) -> Iterator[Watcher]:
    """Over TCP, as anybody does; with `private=True` over the agent's own Unix socket."""
    private = more.pop("private", False)
    uri = "ws://localhost/ws" if private else f"ws://127.0.0.1:{entry['port']}/ws"
    named = {"max_size": None, "proxy": None, "open_timeout": PATIENCE, **more}
    if private:
        del named["proxy"]
    opened = unix_connect(str(entry["socket"]), uri, **named) if private else connect(uri, **named)
    with opened as socket:
        watcher = Watcher(socket)
        if topics:
            watcher.ask(subscribe=list(topics))
        yield watcher
