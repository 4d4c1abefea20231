"""The history file, which only the user can read: one entry a line, the newest last."""

import os
from contextlib import suppress

from synapse.base import files, paths

KEPT = 10_000
_SLACK = 2_000  # entries above KEPT before the file is rewritten


class History:
    """If the file cannot be written, only the next session lacks this session's lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries = _read(path)
        rewrite = len(self.entries) > KEPT + _SLACK
        self.entries = self.entries[-KEPT:]
        if rewrite:
            with suppress(OSError):
                files.replace(path, b"".join(map(_encoded, self.entries)))

    def add(self, line: str) -> None:
        """A line that begins with a space, or is the same as the one before, is not kept."""
        if not line.strip() or line[0].isspace() or (self.entries and self.entries[-1] == line):
            return
        self.entries.append(line)
        with suppress(OSError):
            paths.private_dir(os.path.dirname(self.path))
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_APPEND, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(_encoded(line))

    def sent(self) -> list[str]:
        return list(dict.fromkeys(line for line in reversed(self.entries) if line.startswith("@")))


def _read(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return [_unescaped(line.rstrip("\n")) for line in file if line.strip()]
    except OSError:
        return []


def _encoded(line: str) -> bytes:
    escaped = line.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{escaped}\n".encode("utf-8", "surrogateescape")


def _unescaped(line: str) -> str:
    if "\\" not in line:
        return line
    made, chars = "", iter(line)
    for char in chars:
        if char == "\\":
            char = next(chars, "\\")
            char = {"n": "\n", "r": "\r"}.get(char, char)
        made += char
    return made
