"""A parser for server-sent events that is fed bytes in pieces of any size."""

import re
from typing import NamedTuple

LONGEST = 64 * 1024 * 1024  # bytes of one event
_END = re.compile(rb"[\r\n]")


class ServerEvent(NamedTuple):
    type: str
    data: str
    id: str  # of this event or the last one before it that had one


class EventTooLong(ValueError):
    """One event has more bytes than the limit."""


class SSEReader:
    """`feed` returns the events that the bytes complete. `last_id` is for `Last-Event-ID`."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.last_id = ""
        self.retry: int | None = None  # milliseconds before a new connection, from the server
        self._longest = longest
        self._line: list[bytes] = []  # pieces of the incomplete line
        self._size = 0  # of the event so far
        self._after_cr = False
        self._began = False
        self._id = ""
        self._type = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[ServerEvent]:
        found: list[ServerEvent] = []
        start = 1 if self._after_cr and data[:1] == b"\n" else 0
        self._after_cr = self._after_cr and not data
        while end := _END.search(data, start):
            self._add(data[start : end.start()])
            start = end.end()
            if end.group() == b"\r":
                if start == len(data):
                    self._after_cr = True
                elif data[start] == 0x0A:
                    start += 1
            line = b"".join(self._line)
            self._line.clear()
            if event := self._take(line):
                found.append(event)
        self._add(data[start:])
        return found

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            raise EventTooLong(f"an event of more than {self._longest} bytes")
        if piece:
            self._line.append(piece)

    def _take(self, line: bytes) -> ServerEvent | None:
        if not self._began:
            self._began = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            if not self._data and not self._type:
                self._size = 0  # a comment before an event is no part of it
            return None
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdecimal():
            self.retry = int(value[:9])
        return None

    def _dispatch(self) -> ServerEvent | None:
        kind, data = self._type or "message", self._data
        self._type, self._data, self._size = "", [], 0
        self.last_id = self._id
        return ServerEvent(kind, "\n".join(data), self.last_id) if data else None
