"""Reads what is new in a JSON Lines file that another program writes."""

import json
import os
from collections.abc import Callable
from typing import Any

LINE_LIMIT = 32 * 1024 * 1024  # a longer line is skipped: it holds a pasted image, not a reply
READ_LIMIT = 64 * 1024 * 1024


class JsonlTail:
    """Survives rotation, truncation, disappearance, half-written and malformed lines. Lines that are not
    `wanted` are not parsed."""

    def __init__(
        self, path: str, from_end: bool = False, offset: int = 0, wanted: Callable[[bytes], bool] = bool
    ) -> None:
        self.path = path
        self._wanted = wanted
        self.skipped = 0  # invalid lines
        self.broken = (
            False  # the file was gone, replaced, cut or damaged: lines may be lost; the reader resets it
        )
        self._inode: int | None = None
        self._offset = 0
        self._rest = b""
        self._skipping = False
        if from_end or offset:
            try:
                status = os.stat(self.path)
            except OSError:
                return
            self._inode, self._offset = status.st_ino, status.st_size if from_end else offset

    @property
    def is_inside_line(self) -> bool:
        """Whether the last line that was read has no end yet."""
        return bool(self._rest) or self._skipping

    def read_new(self) -> list[dict[str, Any]]:
        """The objects on the lines that have been finished since the last call."""
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._offset:
                    self.broken = self.broken or self._inode is not None
                    self._inode, self._offset, self._rest, self._skipping = status.st_ino, 0, b"", False
                if status.st_size == self._offset:
                    return []
                file.seek(self._offset)
                data = file.read(READ_LIMIT)
        except OSError:
            self.broken = self.broken or self._inode is not None
            return []
        self._offset += len(data)
        return self._parse(data)

    def _parse(self, data: bytes) -> list[dict[str, Any]]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._skipping and lines:
            del lines[0]  # the end of a line that was too long
            self._skipping = False
        if len(self._rest) > LINE_LIMIT:
            self._rest, self._skipping = b"", True
            self._skip()
        objects = []
        for line in lines:
            if not line.strip() or not self._wanted(line):
                continue
            try:
                # In a file that was cut, zero bytes are before the next line of a program that goes on.
                value = json.loads(line.lstrip(b"\0"))
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                objects.append(value)
            else:
                self._skip()
        return objects

    def _skip(self) -> None:
        self.skipped += 1
        self.broken = True
