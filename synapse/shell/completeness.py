"""Whether a command is whole, or goes on in the next line: asked of the shell itself, which runs nothing."""

from __future__ import annotations

import os
import subprocess

from synapse.shell.dialects import FISH, ZSH, Dialect

PATIENCE = 3.0


class Completeness:
    def __init__(self, program: str, dialect: Dialect) -> None:
        self._program = program
        self._dialect = dialect

    def is_whole(self, text: str) -> bool:
        """A text with a mistake in it is whole: the shell will say what is wrong."""
        if not text.strip() or "\0" in text:
            return True
        try:
            return self._judge(text)
        except (OSError, subprocess.TimeoutExpired):
            return True

    def _judge(self, text: str) -> bool:
        status, said = self._ask(text)
        if self._dialect.unfinished.search(said):
            return False
        if status:  # zsh: its message is of where it gave up, which is further on if more lines come
            return self._dialect is not ZSH or self._ask(text + "\n:\n:")[1] == said
        if _ends_in_backslash(text) and self._ask(text[:-1] + "'")[0]:
            return False  # else the backslash is in a comment, where a quote opens nothing
        if "<<" in text and self._dialect is not FISH:
            return bool(
                self._ask(text + "\n)\n")[0]
            )  # a stray bracket is a mistake, unless it is a here-document
        return True

    def _ask(self, text: str) -> tuple[int, str]:
        done = subprocess.run(
            [self._program, *self._dialect.check, "-c", os.fsencode(text)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            env={**os.environ, "LC_ALL": "C", "LANGUAGE": "C", "BASH_ENV": "", "ENV": ""},
        )
        return done.returncode, done.stderr.decode("utf-8", "replace")


def _ends_in_backslash(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
