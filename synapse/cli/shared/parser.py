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
MACHINE = "machine"  # another machine
PROFILE = "profile"
SETTING = "setting"
SHELL = "shell"
TASK = "task"
QUESTION = "question"  # an open question of an agent

WEEK = 604800  # seconds


class _Formatter(argparse.HelpFormatter):
    """Fills the paragraphs of a text to the width of the terminal. Lines that begin with a space are examples
    or rows of a table: each stays a line, and is continued below itself if it is too long."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        rows: list[str] = []
        paragraph: list[str] = []
        for line in [*text.strip("\n").split("\n"), ""]:
            if line and not line.startswith(" "):
                paragraph.append(line)
                continue
            rows += textwrap.wrap(" ".join(paragraph), width, break_on_hyphens=False)
            paragraph = []
            margin = line[: len(line) - len(line.lstrip())]
            rows += textwrap.wrap(
                line, width, subsequent_indent=f"{margin}    ", break_on_hyphens=False, break_long_words=False
            ) or [""]
        return "\n".join(rows).rstrip("\n")


class Parser(argparse.ArgumentParser):
    def __init__(self, prog: str | None = None, description: str = "", epilog: str = "", **more: Any) -> None:
        super().__init__(prog, description=description, epilog=epilog, formatter_class=_Formatter, **more)
        self.takes: dict[str, str] = {}  # by the name of the argument

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}: see `{self.prog} --help`.")

    @property
    def flags(self) -> list[str]:
        return [flag for flag in self._option_string_actions if flag.startswith("--")]

    @property
    def option_strings(self) -> list[str]:
        return list(self._option_string_actions)

    def takes_value(self, word: str) -> bool:
        """Whether the value of this option is the next word."""
        action = self._option_string_actions.get(word)
        return action is not None and action.nargs is None

    def add_word(self, name: str, takes: str, **options: Any) -> Parser:
        if takes in (AGENT, RECIPIENT, EXTERNAL):
            options.setdefault("type", _without_at)
        self.takes[self.add_argument(name, **options).dest] = takes
        return self

    def add_agent(self) -> Parser:
        return self.add_word("target", AGENT, help="a name, a type, type-port, or the beginning of an id")

    def add_task(self) -> Parser:
        return self.add_word("task", TASK, help="the task's id, or the beginning of it")

    def add_json(self, help: str = "print one JSON object") -> Parser:
        self.add_argument("--json", action="store_true", help=help)
        return self


def _without_at(word: str) -> str:
    """`@codex` is how an agent is addressed in a line; here it means the same agent."""
    return word.removeprefix("@")


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
