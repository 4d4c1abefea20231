"""Whether a command is complete or continues in the next line. The shell is asked; it runs nothing."""

import os
import subprocess

from synapse.shell.agent_lines import is_whole
from synapse.shell.dialects import FISH, ZSH, Dialect

TIMEOUT_SECONDS = 3.0


class Completeness:
    def __init__(self, program: str, dialect: Dialect) -> None:
        self._program = program
        self._dialect = dialect

    def is_whole(self, text: str) -> bool:
        """A text with a syntax error is complete: the shell will report the error."""
        if not text.strip() or "\0" in text:
            return True
        try:
            return self._is_whole(text)
        except (OSError, subprocess.TimeoutExpired):
            return True

    def _is_whole(self, text: str) -> bool:
        status, said = self._ask(text)
        if self._dialect.unfinished.search(said):
            return False
        if status:  # zsh reports where it stopped, which is later if lines are missing
            return self._dialect is not ZSH or self._ask(text + "\n:\n:")[1] == said
        if not is_whole(text) and self._ask(text[:-1] + "'")[0]:
            return False  # in a comment, the quote would not be an error
        if "<<" in text and self._dialect is not FISH:
            # A stray bracket is an error, unless it is part of a here-document.
            return bool(self._ask(text + "\n)\n")[0])
        return True

    def _ask(self, text: str) -> tuple[int, str]:
        done = subprocess.run(
            [self._program, *self._dialect.check, "-c", os.fsencode(text)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT_SECONDS,
            env={**os.environ, "LC_ALL": "C", "LANGUAGE": "C", "BASH_ENV": "", "ENV": ""},
        )
        return done.returncode, done.stderr.decode("utf-8", "replace")
