"""HTTP to agents on this machine, over a Unix socket or loopback, never through a proxy.

Written by hand: importing a client library would cost the host 0.2 s.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

LARGEST = 64 * 1024 * 1024  # bytes of a response
PIECE = 1 << 16


class Place(NamedTuple):
    """Where an agent listens: the path of a socket, or a port."""

    socket: str = ""
    port: int = 0


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
    """One request on its own connection. Raises OSError if nothing listens, Broken after that."""
    if place.socket:
        reader, writer = await asyncio.open_unix_connection(place.socket)
    else:
        reader, writer = await asyncio.open_connection("localhost", place.port)
    try:
        data = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        sent = {"Host": "localhost", "Connection": "close", **(headers or {})}
        if body is not None:
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + data)
            await writer.drain()
            status, found = await _head(reader)
        except (OSError, ValueError, EOFError) as error:
            raise Broken(str(error) or type(error).__name__) from error
        yield Response(status, found, reader)
    finally:
        writer.close()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("no answer in HTTP")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}
