"""Colours, and lines that fit the terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from synapse.base.commands import COMMANDS
from synapse.cli.completion import _parser
from synapse.cli.shared.page import Page
from synapse.terminal.cells import width
from tests.support.home import SYNAPSE, Home
from tests.support.running import Lasting

ROWS = [
    ("NAME", "STATUS", "DIRECTORY"),
    ("reviewer", "INPUT_REQUIRED", "~/projects/a/very/long/path/to/the/work"),
    ("READY", "READY", "/日本語/作業"),
]


def test_a_table_has_colours_only_in_the_column_of_states() -> None:
    lines = Page(0, True).table(ROWS, states=1)
    assert lines[0].startswith("\x1b[1mNAME\x1b[m  ")
    assert lines[2].startswith("READY     \x1b[32mREADY\x1b[m  ")
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    assert plain == Page(0, False).table(ROWS, states=1)


@pytest.mark.parametrize("columns", [30, 40, 45, 60, 80])
def test_a_table_fits(columns: int) -> None:
    lines = Page(columns, False).table(ROWS, flexible=(2, 0), ends=(2,))
    assert max(map(width, lines)) <= max(columns, 8 + 14 + 9 + 4)
    assert lines[0].endswith("DIRECTORY"), "a header is whole"
    if columns == 45:
        assert lines[1] == "reviewer  INPUT_REQUIRED  …g/path/to/the/work"
    assert "…" not in Page(0, False).table(ROWS, flexible=(2,))[1], "a pipe gets everything"


def test_a_line_is_wrapped_below_its_mark() -> None:
    line = Page(30, False).wrapped("  - claude is not installed: install it with npm", 4)
    assert line == "  - claude is not installed:\n    install it with npm"
    assert Page(0, False).wrapped("x " * 100) == "x " * 100


@pytest.fixture(scope="module")
def agent() -> Iterator[Home]:
    with Lasting("--tui") as lasting, lasting.lent() as lent:
        lent.home.run("send", "a", "--return", "say " + "a long message " * 20)
        yield lent.home


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("command", ["list", "tasks", "why a", "doctor", "profiles", "config", "--help"])
def test_what_a_command_prints_fits_the_terminal(agent: Home, command: str, columns: int) -> None:
    text = raw(agent, command, columns).decode()
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).split("\r\n")
    assert [line for line in lines if width(line) > columns] == []


@pytest.mark.parametrize("command", ["list", "tasks", "why a", "doctor"])
def test_colours_are_for_terminals_that_want_them(agent: Home, command: str) -> None:
    assert "\x1b" not in agent.run(*command.split(), check=False).stdout
    assert b"\x1b[3" in raw(agent, command)
    for variable in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert b"\x1b[3" not in raw(agent, command, more=variable)


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_terminal(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    parsers = [_parser(name)]
    for parser in parsers:
        parsers += [
            inner
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
            for inner in action.choices.values()
        ]
        assert [line for line in parser.format_help().split("\n") if width(line) > columns] == []


def raw(home: Home, command: str, columns: int = 80, more: dict[str, str] | None = None) -> bytes:
    with home.program([*SYNAPSE, *command.split()], columns, 24, **more or {}) as terminal:
        terminal.wait_exit()
        return bytes(terminal.raw)
