"""The shell itself: a line is read, goes to an agent or to the user's shell, and leaves a status behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Protocol

from synapse.errors import SynapseError
from synapse.keys.commands import Command, Refusal
from synapse.shell.agent_lines import AgentLines
from synapse.shell.command_readers import Reader
from synapse.shell.history import History

Send = Callable[[Command], int]
USAGE = 2
INTERRUPTED = 130


class Underneath(Protocol):
    """The user's shell, with or without a terminal."""

    status: int
    jobs: int
    directory: bytes
    exit_status: int | None
    typed_ahead: bytes  # while a command ran

    def run(self, line: str, before: int) -> int: ...

    def hang_up(self) -> None: ...


class Shell:
    def __init__(
        self,
        underneath: Underneath,
        reader: Reader,
        lines: AgentLines,
        send: Send,
        history: History | None = None,
    ) -> None:
        self._underneath = underneath
        self._reader = reader
        self._lines = lines
        self._send = send
        self._history = history
        self._warned = False
        self.status = 0

    def run(self) -> int:
        """Until the input or the shell ends; the last status."""
        self._follow()
        while self._underneath.exit_status is None:
            ahead, self._underneath.typed_ahead = self._underneath.typed_ahead, b""
            try:
                line = self._reader.read(self.status, ahead)
            except KeyboardInterrupt:
                if self._history is None:
                    raise
                self.status = INTERRUPTED
                continue
            except EOFError:
                self._leave()
                continue
            self.take(line)
        return self._underneath.exit_status

    def take(self, line: str) -> None:
        """One command, whole."""
        if not line.strip():
            return
        if self._history is not None:
            self._history.add(line)
        if self._lines.is_for_agent(line):
            self._warned = False
            self.status = self._to_agent(line)
            return
        self.status = self._underneath.run(line, self.status)
        self._follow()
        if line.split()[0] not in ("exit", "logout"):
            self._warned = False
        elif self._underneath.exit_status is None:
            self._refused_to_end(_asked_for(line, self.status))

    def _to_agent(self, line: str) -> int:
        command = self._lines.parse(line.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        if isinstance(command, Refusal):
            print(f"synapse: {command.reason}: `@name [--return] message`.", file=sys.stderr)
            return USAGE
        try:
            return self._send(command)
        except SynapseError as error:
            print(f"synapse: {error}", file=sys.stderr)
            return error.exit_status

    def _follow(self) -> None:
        """Be where the shell is: names are looked for there first, and files are completed there."""
        try:
            os.chdir(self._underneath.directory)
        except OSError:
            pass  # removed, or not ours to enter

    # --- leaving ------------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Ctrl-D, or the end of a script. Jobs are spoken of once."""
        jobs = self._underneath.jobs
        if jobs and not self._warned:
            print(f"synapse: there {'is a job' if jobs == 1 else f'are {jobs} jobs'}; Ctrl-D again leaves.")
            self._warned = True
            return
        self._underneath.run("exit", self.status)
        if self._underneath.exit_status is None:
            self._refused_to_end(self.status)

    def _refused_to_end(self, status: int) -> None:
        """A shell with jobs says so and stays; the second time it ends, as it would have on its own."""
        if self._warned:
            self._underneath.hang_up()
            self._underneath.exit_status = status
        self._warned = True


def _asked_for(line: str, otherwise: int) -> int:
    """The status that `exit N` is to leave behind."""
    words = line.split()
    return int(words[1]) & 0xFF if len(words) == 2 and words[1].isdecimal() else otherwise
