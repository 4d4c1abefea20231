"""The parser of a command: its errors are one sentence, and completion learns what each argument takes."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from synapse.errors import UsageError

# What an argument takes, for completion. An argument without one of these is text or a file.
AGENT = "agent"  # a running agent
RECIPIENT = "recipient"  # a running agent, an external agent, `all` or `all-here`
EXTERNAL = "external"  # the alias of an external agent
PROFILE = "profile"
SHELL = "shell"
TASK = "task"


class Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.takes: dict[str, str] = {}  # by the name of the argument

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}: see `{self.prog} --help`.")

    def add_word(self, name: str, takes: str, **options: Any) -> None:
        """A positional argument that is one of the kinds above."""
        self.takes[self.add_argument(name, **options).dest] = takes

    def add_agent(self) -> None:
        self.add_word("target", AGENT, help="a name, a type, type-port, or the beginning of an id")

    def add_json(self, help: str = "print one JSON object") -> None:
        self.add_argument("--json", action="store_true", help=help)


def raw_parser(prog: str, description: str, **options: Any) -> Parser:
    """A parser that prints its description as it is written."""
    return Parser(
        prog=prog,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **options,
    )
