"""The blocking HTTP of our own commands, against a server that answers byte for byte what a test says."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from synapse.errors import SynapseError, TargetError, WaitTimeout
from synapse.peers import control
from synapse.registry import Entry

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Server:
    def __init__(self, pieces: list[bytes], folder: str, closes: bool) -> None:
        self.entry: Entry = {"name": "a", "agent_id": "0" * 64, "socket": f"{folder}/socket"}
        self.received = b""
        self.done = threading.Event()
        self._closes = closes
        self._pieces = pieces
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.entry["socket"]))
        self._listener.listen()
        self._listener.settimeout(60)  # a client that never comes must not keep the tests waiting
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        with self._listener:
            connection, _ = self._listener.accept()
            connection.settimeout(60)
            self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            self.received = connection.recv(1 << 16)
            for piece in self._pieces:
                connection.sendall(piece)
            if not self._closes:
                self.done.wait(60)


@contextmanager
def serving(*pieces: bytes, closes: bool = True) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="synt-") as folder:
        server = Server(list(pieces), folder, closes)
        try:
            yield server
        finally:
            server.done.set()
            server.thread.join()


def test_a_response_in_any_pieces() -> None:
    whole = HEAD + b'Content-Length: 10\r\n\r\n{"a": "b"}'
    for cut in range(1, len(whole)):
        with serving(whole[:cut], whole[cut:]) as server:
            assert control.call(server.entry, "GET", "/x") == {"a": "b"}


def test_a_chunked_response() -> None:
    chunks = b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n6;x=y\r\n: "b"}\r\n0\r\n\r\n'
    with serving(HEAD + chunks) as server:
        assert control.exchange(server.entry, "GET", "/x") == (200, {"a": "b"})


def test_the_request() -> None:
    with serving(HEAD + b"Content-Length: 2\r\n\r\n{}") as server:
        control.call(server.entry, "POST", "/tasks/send?priority=1", {"message": "日本 \ud800"})
        head, _, body = server.received.partition(b"\r\n\r\n")
        assert head.startswith(b"POST /tasks/send?priority=1 HTTP/1.1\r\nHost: localhost\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        assert body.decode() == '{"message": "日本 ?"}'


@pytest.mark.parametrize(
    ("pieces", "error", "says"),
    [
        ([], TargetError, "a has just ended: see `synapse logs a`."),
        ([HEAD + b"Content-Length: 10\r\n\r\n{"], TargetError, "has just ended"),
        ([b"SSH-2.0-OpenSSH\r\n"], SynapseError, "makes no sense (it is not HTTP): see `synapse logs a`."),
        ([HEAD + b"Content-Length: 4\r\n\r\nnope"], SynapseError, "makes no sense"),
        ([HEAD + b"Content-Length: 2\r\n\r\n[]"], SynapseError, "no JSON object"),
        (
            [b'HTTP/1.1 409 Conflict\r\nContent-Length: 18\r\n\r\n{"detail":"nope."}'],
            SynapseError,
            "a refused: nope.",
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence(pieces: list[bytes], error: type[Exception], says: str) -> None:
    with serving(*pieces) as server, pytest.raises(error) as raised:
        control.call(server.entry, "GET", "/x")
    assert says in str(raised.value)


def test_an_agent_that_does_not_answer() -> None:
    with serving(closes=False) as server, pytest.raises(WaitTimeout, match=r"within 0\.05 s"):
        control.call(server.entry, "GET", "/x", timeout=0.05)


def test_an_agent_whose_socket_is_gone() -> None:
    with pytest.raises(TargetError, match="has just ended"):
        control.call({"name": "a", "socket": "/nonexistent/socket"}, "GET", "/x")


def test_the_lines_of_a_stream() -> None:
    chunks = b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n8\r\n\ntwo\nthr\r\n3\r\nee\n\r\n0\r\n\r\n"
    with serving(HEAD + chunks) as server:
        assert list(control.stream(server.entry, "/x")) == ["one\n", "two\n", "three\n"]
