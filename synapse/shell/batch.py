"""The user's shell without a terminal. Its commands use our own input and output."""

import os
import select
import subprocess

from synapse.errors import SynapseError
from synapse.shell.channel import Channel, CommandEnded
from synapse.shell.dialects import Dialect, in_batch

_POLL_SECONDS = 0.02


class BatchSession:
    """The shell is started for the first command: a script of `@agent` lines needs none."""

    def __init__(self, program: str, dialect: Dialect) -> None:
        self.status = 0
        self.jobs = 0
        self.directory = os.fsencode(os.getcwd())
        self.exit_status: int | None = None
        self.typed_ahead = b""  # always empty: there is no terminal
        self._program = program
        self._dialect = dialect
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, line: str, before: int) -> int:
        if self._process is None and line == "exit":
            self.status = self.exit_status = before
            return before
        if self._process is None or self._channel is None:
            self._channel = Channel()
            argv = in_batch(self._dialect, self._program, self._channel.folder)
            try:
                self._process = subprocess.Popen(argv)
            except OSError as error:
                raise SynapseError(
                    f"cannot start {self._program}: {error.strerror}; set SHELL to another."
                ) from error
        self._channel.give(line)
        self._channel.go(before)
        while not self._has_ended(self._channel):
            code = self._process.poll()
            if code is not None and not self._has_ended(self._channel):
                self.status = self.exit_status = 128 - code if code < 0 else code
                break
        return self.status

    def _has_ended(self, channel: Channel) -> bool:
        select.select([channel.events], [], [], _POLL_SECONDS)
        for event in channel.read():
            if isinstance(event, CommandEnded):
                self.status, self.jobs, self.directory = event
                return True
        return False

    def hang_up(self) -> None:
        """Nothing to do: the shell has no terminal, and ends with us."""

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()  # it does nothing but wait for the next command
            self._process.wait()
        if self._channel is not None:
            self._channel.close()
