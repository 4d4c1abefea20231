"""A client of A2A servers with little overhead: JSON-RPC 1.0 over one connection."""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from benchmarks.terminal import PATIENCE

_END = b"0\r\n\r\n"  # of a chunked response


class Client:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = 0  # bytes of a stream
        self.ended = False

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.socket.close()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        self.ask(method, params)
        return self.answer()

    def ask(self, method: str, params: dict[str, Any]) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._post("/", json.dumps(body).encode())

    def answer(self) -> Any:
        """The response to the oldest request; raises RuntimeError for an error."""
        document = json.loads(self._body())
        if "result" not in document:
            raise RuntimeError(f"refused: {document}")
        return document["result"]

    def go(self) -> None:
        """Tell a server of `task_servers` that its agent may begin."""
        self._post("/go", b"{}")
        self._body()

    def send(self, text: str, wait: bool = False) -> Any:
        """The task."""
        self.ask_to_send(text, wait)
        return self.answer()["task"]

    def ask_to_send(self, text: str, wait: bool = False) -> None:
        message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": text}]}
        self.ask("SendMessage", {"message": message, "configuration": {"returnImmediately": not wait}})

    def subscribe(self, task_id: str) -> None:
        """Ask for the stream of a task, and wait until it has begun."""
        self.ask("SubscribeToTask", {"id": task_id})
        begun = b""
        while task_id.encode() not in begun:
            begun += self._more()
        self.received = len(begun)

    def take(self) -> None:
        """Read what has arrived of the stream."""
        data = self._more()
        self.received += len(data)
        self.ended = data.endswith(_END)

    def _post(self, path: str, body: bytes) -> None:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"A2A-Version: 1.0\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.socket.sendall(head.encode() + body)

    def _body(self) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += self._more()
        return body

    def _more(self) -> bytes:
        data = self.socket.recv(1 << 18)
        if not data:
            raise RuntimeError("the server has closed the connection")
        return data


def take_all(clients: Iterable[Client]) -> None:
    """Read every stream to its end."""
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        while selector.get_map():
            found = selector.select(PATIENCE)
            if not found:
                raise RuntimeError(f"{len(selector.get_map())} streams stand still")
            for key, _ in found:
                key.data.take()
                if key.data.ended:
                    selector.unregister(key.fileobj)


def send_many(clients: Sequence[Client], count: int, text: str, wait: bool = False) -> list[str]:
    """Send `count` messages over all clients, with `wait` each until its reply; returns the tasks' ids."""
    tasks = []
    for number in range(count + len(clients)):
        client = clients[number % len(clients)]
        if number >= len(clients) and number - len(clients) < count:
            tasks.append(str(client.answer()["task"]["id"]))
        if number < count:
            client.ask_to_send(text, wait)
    return tasks
