"""A running `synapse view`, and a browser's side of it without a browser."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.support.home import SYNAPSE, Home

Frame = dict[str, Any]
PATIENCE = 40.0


class View:
    def __init__(self, home: Home, process: subprocess.Popen[str], url: str) -> None:
        self.home = home
        self.process = process
        self.url = url  # with the first token
        self.base = url.partition("/?")[0]

    def fresh(self) -> str:
        return self.home.run("view", "--url").stdout.strip()

    def cookie(self) -> str:
        """The cookie of a browser that was let in."""
        response = httpx.get(self.fresh(), follow_redirects=False, trust_env=False)
        assert response.status_code == 303, response.text
        return str(response.headers["set-cookie"]).partition(";")[0]

    @contextmanager
    def page(self) -> Iterator[Page]:
        uri = f"{self.base.replace('http', 'ws')}/ws"
        headers = {"Cookie": self.cookie()}
        origin = Origin(self.base)
        with connect(uri, origin=origin, additional_headers=headers, max_size=None, proxy=None) as socket:
            yield Page(socket)


class Page:
    """What an open page gets."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.agents: dict[str, Frame] = {}  # by name
        self.frames: list[Frame] = []
        self._id = 0

    def next(self) -> Frame:
        frame: Frame = json.loads(self.socket.recv(timeout=PATIENCE))
        self.frames.append(frame)
        if frame["type"] == "agent":
            self.agents[frame["agent"]["name"]] = frame["agent"]
        elif frame["type"] == "gone":
            self.agents.pop(frame["name"], None)
        return frame

    def until(self, condition: Callable[[Frame], object]) -> Frame:
        while not condition(frame := self.next()):
            pass
        return frame

    def until_agent(self, name: str, condition: Callable[[Frame], object] = lambda _: True) -> Frame:
        while name not in self.agents or not condition(self.agents[name]):
            self.next()
        return self.agents[name]

    def send(self, **request: Any) -> int:
        self._id += 1
        self.socket.send(json.dumps({"id": self._id, **request}))
        return self._id

    def ask(self, **request: Any) -> Frame:
        number = self.send(**request)
        return self.until(lambda f: f["type"] in ("ok", "error") and f["id"] == number)


@contextmanager
def running_view(home: Home, *words: str) -> Iterator[View]:
    process = subprocess.Popen(
        [*SYNAPSE, "view", *(words or ("--port", "0"))],
        env=home.env,
        cwd=home.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found, line + process.stdout.read()
        yield View(home, process, found.group())
    finally:
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0 and "Traceback" not in output, output
