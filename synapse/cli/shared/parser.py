"""The parser of a command: its errors are one sentence, and completion learns what each argument takes."""

from __future__ import annotations

import argparse

from synapse.errors import UsageError

TYPE_CHECKING = False  # `typing` would cost every command 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

# What an argument takes, for completion. An argument without one of these is text or a file.
AGENT = "agent"  # a running agent
RECIPIENT = "recipient"  # a running agent, an external agent, `all` or `all-here`
EXTERNAL = "external"  # the alias of an external agent
PROFILE = "profile"
SHELL = "shell"
TASK = "task"

WEEK = 604800  # seconds


class Parser(argparse.ArgumentParser):
    """A help text of several lines is printed as it is written; one of a single line is wrapped."""

    def __init__(self, prog: str | None = None, description: str = "", epilog: str = "", **more: Any) -> None:
        raw = "\n" in description + epilog
        formatter = argparse.RawDescriptionHelpFormatter if raw else argparse.HelpFormatter
        super().__init__(prog, description=description, epilog=epilog, formatter_class=formatter, **more)
        self.takes: dict[str, str] = {}  # by the name of the argument

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}: see `{self.prog} --help`.")

    @property
    def flags(self) -> list[str]:
        return [flag for flag in self._option_string_actions if flag.startswith("--")]

    def add_word(self, name: str, takes: str, **options: Any) -> Parser:
        self.takes[self.add_argument(name, **options).dest] = takes
        return self

    def add_agent(self) -> Parser:
        return self.add_word("target", AGENT, help="a name, a type, type-port, or the beginning of an id")

    def add_task(self) -> Parser:
        return self.add_word("task", TASK, help="the task's id, or the beginning of it")

    def add_json(self, help: str = "print one JSON object") -> Parser:
        self.add_argument("--json", action="store_true", help=help)
        return self


def number(kind: type[float], low: float, high: float) -> Callable[[str], float]:
    def take(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be from {low} to {high}, not {text!r}")
        return value

    return take
