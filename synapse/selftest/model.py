"""A scripted model server on loopback: it speaks the CLIs' APIs, and remembers every request.

with ModelServer(script) as model:
    ...  # run a CLI against model.url
    assert model.replies[-1].text == "PONG"
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from synapse.selftest.apis.base import Api, Json, Reply, Turn, tokens
from synapse.selftest.apis.chat import Chat
from synapse.selftest.apis.generate import Generate
from synapse.selftest.apis.messages import Messages
from synapse.selftest.apis.responses import Responses
from synapse.selftest.steps import Call, Cut, Hold, Refuse, Say, Script, Step, Wait

PIECE = re.compile(r".{1,24}", re.DOTALL)  # what one event carries
APIS: dict[str, type[Api]] = {
    "/messages": Messages,
    "/responses": Responses,
    "/completions": Chat,
    "enerateContent": Generate,
}
NO_SUCH_PAGE = {"error": {"message": "the scripted model server has no such page"}}


@dataclass(frozen=True)
class Request:
    at: float  # time.monotonic()
    method: str
    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class Sent:
    """One reply, and what it answered."""

    request: Request
    api: str
    prompt: str
    side: bool = False
    text: str = ""  # as far as it has gone out
    calls: list[Call] = field(default_factory=list)
    status: int = 200
    finished: float | None = None  # time.monotonic(); None while it runs, and for good when it was cut off
    cut: bool = False


class ModelServer:
    """`speed` multiplies every pause of a script: 0 for none at all."""

    def __init__(self, script: Script, speed: float = 1.0) -> None:
        self.script = script
        self.speed = speed
        self.requests: list[Request] = []
        self.replies: list[Sent] = []
        self.side_replies: list[Sent] = []  # to titles and the like, which are no part of the conversation
        self.failures: list[str] = []  # requests that this server did not understand
        self._closing = threading.Event()
        self._counter = threading.Lock()
        self._count = 0
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def prompts(self) -> list[str]:
        """What the human (or Synapse) said, in order; a turn with tool calls comes once for each request."""
        return [sent.prompt for sent in self.replies]

    @property
    def answered(self) -> bool:
        """Whether the last request of the conversation has its whole reply."""
        return bool(self.replies) and self.replies[-1].finished is not None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join()

    def next_number(self) -> int:
        with self._counter:
            self._count += 1
            return self._count

    def stop(self) -> None:
        """From now on nobody listens at its address; what is being answered is broken off."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def is_stopped(self) -> bool:
        return self._closing.is_set()

    def wait(self, step: Wait | Hold) -> None:
        self._closing.wait(step.seconds * self.speed)


def _api_of(path: str) -> Api | None:
    return next((api() for ending, api in APIS.items() if path.endswith(ending)), None)


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a CLI that ends leaves its connections open
            self.model.failures.append(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._remember({})
        self._empty(200)

    def do_GET(self) -> None:
        self._remember({})
        if self.path.partition("?")[0].endswith("/models"):
            self._json(200, {"object": "list", "data": [], "models": []})
        else:
            self._json(404, NO_SUCH_PAGE)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.server.model.is_stopped:  # a connection that was kept open
            self._reset()
            return
        request = self._remember(body)
        path = self.path.partition("?")[0]
        api = _api_of(path)
        if api is not None:
            self._model(api, request, api.read(path, body))
        elif path.endswith("/count_tokens"):
            self._json(200, {"input_tokens": tokens(json.dumps(body))})
        elif path.endswith(":countTokens"):
            self._json(200, {"totalTokens": tokens(json.dumps(body))})
        else:
            self._json(404, NO_SUCH_PAGE)

    def _model(self, api: Api, request: Request, turn: Turn) -> None:
        model = self.server.model
        sent = Sent(request, api.name, turn.prompt, side=turn.side)
        (model.side_replies if turn.side else model.replies).append(sent)
        steps: list[Step] = model.script(turn.prompt, turn.results)
        if turn.side:
            steps = [Say(api.side_reply(request.body))]
        if isinstance(steps[0], Hold):
            model.wait(steps[0])
        if isinstance(steps[0], Refuse):
            sent.status = steps[0].status
            self._json(sent.status, api.refusal(steps[0]))
        elif turn.stream:
            self._stream(api.begin(request.body, model.next_number()), steps, sent)
        else:
            sent.text = "".join(step.text for step in steps if isinstance(step, Say))
            self._json(200, api.begin(request.body, model.next_number()).whole(sent.text))
        if not sent.cut:
            sent.finished = time.monotonic()

    def _stream(self, reply: Reply, steps: list[Step], sent: Sent) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for event in self._events(reply, steps, sent):
                self.wfile.write(event)
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):  # interrupted by a human, or by the script
            sent.cut = True
            self._reset()

    def _reset(self) -> None:
        """Without an orderly end, which would look like the end of the reply."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()

    def _events(self, reply: Reply, steps: list[Step], sent: Sent) -> Iterator[bytes]:
        yield from reply.open()
        for step in steps:
            if isinstance(step, Wait):
                self.server.model.wait(step)
            elif isinstance(step, Say):
                for piece in PIECE.findall(step.text):
                    sent.text += piece  # before it goes out: who sees it on a screen finds it here
                    yield from reply.say(piece)
            elif isinstance(step, Call):
                yield from reply.call(step)
                sent.calls.append(step)
            elif isinstance(step, Cut):
                raise ConnectionResetError
        yield from reply.close()

    def _remember(self, body: Json) -> Request:
        request = Request(time.monotonic(), self.command, self.path, dict(self.headers), body)
        self.server.model.requests.append(request)
        return request

    def _json(self, status: int, body: Json) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _empty(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
