"""HTTP over an agent's private socket, for our own commands: blocking, and light to import.

Written by hand: `http.client` takes 27 ms, more than twice as long as the start of Python.
"""

from __future__ import annotations

import _socket
import time

from synapse.base import jsontext
from synapse.errors import SynapseError, TargetError, WaitTimeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from synapse.peers.fifo import Request
    from synapse.registry import Entry

PATIENCE = 10.0  # seconds for a response
PIECE = 1 << 16
BACKLOG_PAUSE = 0.02  # seconds until a busy agent is tried again


def call(
    entry: Entry, method: str, path: str, body: object = None, timeout: float = PATIENCE
) -> dict[str, Any]:
    """The JSON object that the agent answers. Raises SynapseError if it refuses or does not answer."""
    name = entry["name"]
    try:
        status, answer = exchange(entry, method, path, body, timeout)
    except (FileNotFoundError, ConnectionError) as error:
        raise TargetError(f"{name} has just ended: see `synapse logs {name}`.") from error
    except TimeoutError as error:
        raise WaitTimeout(
            f"{name} does not answer within {timeout:g} s: try again, or see `synapse logs {name}`."
        ) from error
    except ValueError as error:
        raise SynapseError(
            f"{name} gave an answer that makes no sense ({error}): see `synapse logs {name}`."
        ) from error
    if status != 200:
        raise SynapseError(f"{name} refused: {str(answer.get('detail', status)).rstrip('.')}.")
    return answer


def exchange(
    entry: Entry, method: str, path: str, body: object = None, timeout: float = PATIENCE
) -> tuple[int, dict[str, Any]]:
    """The status and the JSON object of one response. Raises OSError, or ValueError for anything else."""
    connection = _Connection(entry, timeout)
    try:
        connection.request(method, path, body)
        answer = jsontext.loads(b"".join(connection.pieces()).decode())
    finally:
        connection.close()
    if not isinstance(answer, dict):
        raise ValueError("it is no JSON object")
    return connection.status, answer


def stream(entry: Entry, path: str) -> Iterator[str]:
    """The lines of a response that lasts as long as the agent."""
    try:
        connection = _Connection(entry, PATIENCE)
        try:
            connection.request("GET", path)
            connection.wait_for_ever()
            rest = b""
            for piece in connection.pieces():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield line.decode() + "\n"
        finally:
            connection.close()
    except (OSError, ValueError) as error:
        raise TargetError(f"{entry['name']} has just ended: see `synapse logs {entry['name']}`.") from error


def _connect(sock: _socket.socket, path: str, timeout: float) -> None:
    """Wait while too many connections wait for the agent to accept them: connect() fails at once then."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError("too many connections are waiting") from None
        time.sleep(BACKLOG_PAUSE)


class _Connection:
    def __init__(self, entry: Entry, timeout: float) -> None:
        self.status = 0
        self._headers: dict[bytes, bytes] = {}
        self._buffer = b""
        self._agent_id = str(entry.get("agent_id") or "")
        self._timeout: float | None = timeout
        self._request: Request | None = None  # through the FIFO, where connections are refused
        self._is_refused = False
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            _connect(self._socket, str(entry["socket"]), timeout)
        except PermissionError:
            self._socket.close()
            self._is_refused = True
        except OSError:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()
        if self._request is not None:
            self._request.close()

    def wait_for_ever(self) -> None:
        self._timeout = None
        if not self._is_refused:
            self._socket.settimeout(None)

    def request(self, method: str, path: str, body: object = None) -> None:
        """Send a request and read the head of the response."""
        if self._is_refused:
            from synapse.peers import fifo

            self._request = fifo.Request(fifo.find_way(), self._agent_id, method, path, body)
        else:
            self._send(method, path, body)
        version, status, *_ = [*self._line().split(b" ", 2), b""]
        if not version.startswith(b"HTTP/1."):
            raise ValueError("it is not HTTP")
        self.status = int(status)
        while line := self._line():
            name, _, value = line.partition(b":")
            self._headers[name.lower()] = value.strip()
        if self._request is not None and fifo.UNREACHABLE.encode() in self._headers:
            raise ConnectionRefusedError("nothing listens there")

    def _send(self, method: str, path: str, body: object) -> None:
        data = b"" if body is None else jsontext.dumps(body).encode("utf-8", "replace")
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close"]
        if self._agent_id:
            head.append(f"X-Synapse-Agent: {self._agent_id}")
        if body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
        self._socket.sendall("\r\n".join([*head, "", ""]).encode() + data)

    def pieces(self) -> Iterator[bytes]:
        """The body as it arrives. Raises ConnectionError if it ends too early."""
        if self._headers.get(b"transfer-encoding") == b"chunked":
            while size := int(self._line().partition(b";")[0], 16):
                yield from self._exactly(size)
                self._line()
        else:
            yield from self._exactly(int(self._headers.get(b"content-length", b"0")))

    def _exactly(self, size: int) -> Iterator[bytes]:
        while size > 0:
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            size -= len(piece)
            yield piece
            if size > 0:
                self._receive()

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._receive()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.strip()

    def _receive(self) -> None:
        data = self._socket.recv(PIECE) if self._request is None else self._next_piece(self._request)
        if not data:
            raise ConnectionError("the connection was closed")
        self._buffer += data

    def _next_piece(self, request: Request) -> bytes:
        began = time.monotonic()
        while (piece := request.step()) is None:
            if self._timeout is not None and time.monotonic() - began > self._timeout:
                raise TimeoutError if request.is_answered else request.unanswered(self._timeout)
            time.sleep(request.pause)
        return piece
