"""HTTP to agents on this machine, over a Unix socket or loopback, never through a proxy.

Written by hand: importing a client library would cost the host 0.2 s.
"""

import asyncio
import json
import socket
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from synapse.peers import fifo
from synapse.peers.control import BACKLOG_PAUSE, PATIENCE

LARGEST = 64 * 1024 * 1024  # bytes of a response
PIECE = 1 << 16


class Place(NamedTuple):
    """Where an agent listens: the path of a socket, or a port; and its id, if that is known."""

    socket: str = ""
    port: int = 0
    agent: str = ""


class Broken(ConnectionError):
    """The server has closed the connection, or does not speak HTTP. The request may have arrived."""


class Response:
    def __init__(self, status: int, headers: Mapping[str, str], reader: asyncio.StreamReader) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives. Raises Broken if it ends too early."""
        try:
            if self.status == 204:
                return
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                async for piece in self._chunks():
                    yield piece
            elif "content-length" in self.headers:
                async for piece in self._exactly(int(self.headers["content-length"])):
                    yield piece
            else:
                while piece := await self._reader.read(PIECE):
                    yield piece
        except (OSError, ValueError, EOFError) as error:
            raise Broken(str(error) or type(error).__name__) from error

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        while size := int((await self._line()).partition(b";")[0], 16):
            async for piece in self._exactly(size):
                yield piece
            await self._line()
        while await self._line():
            pass  # trailers

    async def _line(self) -> bytes:
        line = await self._reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("it ended in the middle")
        return line.strip()

    async def _exactly(self, size: int) -> AsyncGenerator[bytes, None]:
        if size < 0:
            raise ValueError("a length below 0")
        while size:
            piece = await self._reader.read(min(size, PIECE))
            if not piece:
                raise EOFError("it ended in the middle")
            size -= len(piece)
            yield piece

    async def json(self) -> Any:
        body = bytearray()
        async for piece in self.pieces():
            body += piece
            if len(body) > LARGEST:
                raise Broken(f"an answer of more than {LARGEST} bytes")
        try:
            return json.loads(body) if body else None
        except ValueError as error:
            raise Broken(f"an answer that is not JSON: {error}") from error


@asynccontextmanager
async def exchange(
    place: Place, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> AsyncGenerator[Response, None]:
    """One request on its own connection, or through the FIFO of the agent that this process runs in, where
    connections are refused. Raises OSError if nothing listens, Broken after that."""
    async with AsyncExitStack() as stack:
        try:
            opened = requested(place, method, path, body, headers)
            reader = await stack.enter_async_context(opened)
        except PermissionError:
            opened = _through_fifo(place, method, path, body, headers)
            reader = await stack.enter_async_context(opened)
        response = await _response(reader)
        if fifo.UNREACHABLE in response.headers:
            raise ConnectionRefusedError(f"nothing listens for {place.agent}")
        yield response


@asynccontextmanager
async def requested(
    place: Place, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> AsyncGenerator[asyncio.StreamReader, None]:
    """The response to one request, as it comes."""
    if place.socket:
        reader, writer = await _connected(place.socket)
    elif fifo.is_forbidden():  # where asyncio would wait for ever for the address of the name
        raise PermissionError(1, "connections are refused here")
    else:
        reader, writer = await asyncio.open_connection("localhost", place.port)
    try:
        data = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        sent = {"Host": "localhost", "Connection": "close", **(headers or {})}
        if place.agent:
            sent["X-Synapse-Agent"] = place.agent
        if body is not None:
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + data)
            await writer.drain()
        except (OSError, ValueError) as error:
            raise Broken(str(error) or type(error).__name__) from error
        yield reader
    finally:
        writer.close()


async def _connected(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Wait while too many connections wait for the agent to accept them. connect() fails with EAGAIN, and
    asyncio takes that for a connection that will be there soon, so connect() is called here."""
    deadline = time.monotonic() + PATIENCE
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.setblocking(False)
        while True:
            try:
                sock.connect(path)
                return await asyncio.open_unix_connection(sock=sock)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(BACKLOG_PAUSE)
    except BaseException:
        sock.close()
        raise


@asynccontextmanager
async def _through_fifo(
    place: Place, method: str, path: str, body: object, headers: Mapping[str, str] | None
) -> AsyncGenerator[asyncio.StreamReader, None]:
    request = fifo.Request(fifo.find_way(), place.agent, method, path, body, headers)
    reader = asyncio.StreamReader()
    reading = asyncio.ensure_future(_read_reply(request, reader))
    try:
        yield reader
    finally:
        reading.cancel()
        request.close()


async def _read_reply(request: fifo.Request, reader: asyncio.StreamReader) -> None:
    try:
        while (piece := request.step()) != b"":
            if piece is None:
                await asyncio.sleep(request.pause)
            else:
                reader.feed_data(piece)
        reader.feed_eof()
    except Exception as error:
        reader.set_exception(error)


async def _response(reader: asyncio.StreamReader) -> Response:
    try:
        status, found = await _head(reader)
    except (OSError, ValueError, EOFError) as error:
        raise Broken(str(error) or type(error).__name__) from error
    return Response(status, found, reader)


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("no answer in HTTP")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}
