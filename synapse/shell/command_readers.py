"""Readers of commands without a line editor: from a script, a pipe, or a terminal without cursor movement."""

import io
import os
from collections.abc import Callable
from typing import Protocol

IsWhole = Callable[[str], bool]


class Reader(Protocol):
    def read(self, status: int, typed_ahead: bytes) -> str:
        """The next complete command. Raises EOFError when there is none."""


class ScriptReader:
    """Reads byte by byte, as shells read a script: what follows a line may be the input of its command."""

    def __init__(self, file: io.BytesIO | int, is_whole: IsWhole) -> None:
        self._file = file
        self._is_whole = is_whole

    def read(self, status: int, typed_ahead: bytes) -> str:
        return whole_command(self._line, self._is_whole)

    def _line(self) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n"):
            byte = os.read(self._file, 1) if isinstance(self._file, int) else self._file.read(1)
            if not byte:
                break
            line += byte
        return bytes(line)


class PlainReader:
    """Reads with the terminal's own line editing, after a prompt."""

    def __init__(self, prompt: Callable[[int], str], is_whole: IsWhole) -> None:
        self._prompt = prompt
        self._is_whole = is_whole
        self._ahead: list[bytes] = []

    def read(self, status: int, typed_ahead: bytes) -> str:
        self._ahead += typed_ahead.replace(b"\r", b"\n").splitlines(keepends=True)
        prompts = iter([self._prompt(status)])

        def line() -> bytes:
            print(next(prompts, "> "), end="", flush=True)
            if self._ahead:
                ahead = self._ahead.pop(0)
                os.write(1, ahead)
                return ahead if ahead.endswith(b"\n") else ahead + os.read(0, 65536)
            return os.read(0, 65536)

        return whole_command(line, self._is_whole)


def whole_command(read_line: Callable[[], bytes], is_whole: IsWhole) -> str:
    """Read lines until they are a complete command, or until the end of the input."""
    text = ""
    while True:
        line = read_line()
        text += line.decode("utf-8", "surrogateescape")
        if not line:
            if text:
                return text
            raise EOFError
        command = text[:-1] if text.endswith("\n") else text
        if is_whole(command):
            return command
