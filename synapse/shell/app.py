"""`synapse-shell`: reads a line, gives it to an agent or to the user's shell, and keeps its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synapse.base.text import for_output
from synapse.errors import SynapseError
from synapse.keys.commands import Command, Refusal
from synapse.shell.agent_lines import AgentLines
from synapse.shell.command_readers import Reader
from synapse.shell.history import History

if TYPE_CHECKING:
    from synapse.shell.batch import BatchSession
    from synapse.shell.session import Session

Send = Callable[[Command], int]
USAGE = 2
INTERRUPTED = 130


@dataclass
class Shell:
    shell: Session | BatchSession
    reader: Reader
    lines: AgentLines
    send: Send
    history: History | None = None
    status: int = 0
    _warned: bool = False

    def run(self) -> int:
        """Run until the input or the user's shell ends. Returns the last exit status."""
        self._change_directory()
        while self.shell.exit_status is None:
            ahead, self.shell.typed_ahead = self.shell.typed_ahead, b""
            try:
                line = self.reader.read(self.status, ahead)
            except KeyboardInterrupt:
                if self.history is None:
                    raise
                self.status = INTERRUPTED
                continue
            except EOFError:
                self._leave()
                continue
            self.take(line)
        return self.shell.exit_status

    def take(self, line: str) -> None:
        if not line.strip():
            return
        if self.history is not None:
            self.history.add(line)
        if self.lines.is_for_agent(line):
            self._warned = False
            self.status = self._send_to_agent(line)
            return
        self.status = self.shell.run(line, self.status)
        self._change_directory()
        if line.split()[0] not in ("exit", "logout"):
            self._warned = False
        elif self.shell.exit_status is None:
            self._did_not_exit(_requested_status(line, self.status))

    def _send_to_agent(self, line: str) -> int:
        command = self.lines.parse(line.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        if isinstance(command, Refusal):
            print(f"synapse: {command.reason}: nothing was sent.", file=sys.stderr)
            return USAGE
        try:
            return self.send(command)
        except SynapseError as error:
            print(f"synapse: {for_output(str(error))}", file=sys.stderr)
            return error.exit_status

    def _change_directory(self) -> None:
        """Go to the shell's directory: agents in it are preferred, and files in it are completed."""
        try:
            os.chdir(self.shell.directory)
        except OSError:
            pass  # removed, or not accessible

    def _leave(self) -> None:
        """Ctrl-D, or the end of a script. The first time, running jobs are only reported."""
        jobs = self.shell.jobs
        if jobs and not self._warned:
            print(f"synapse: there {'is a job' if jobs == 1 else f'are {jobs} jobs'}; Ctrl-D again leaves.")
            self._warned = True
            return
        self.shell.run("exit", self.status)
        if self.shell.exit_status is None:
            self._did_not_exit(self.status)

    def _did_not_exit(self, status: int) -> None:
        """A shell with jobs reports them and stays; the second `exit` ends it, as in that shell alone."""
        if self._warned:
            self.shell.hang_up()
            self.shell.exit_status = status
        self._warned = True


def _requested_status(line: str, otherwise: int) -> int:
    words = line.split()
    return int(words[1]) & 0xFF if len(words) == 2 and words[1].isdecimal() else otherwise
