"""A CLI that is not the one that was checked last: its human is told once, quietly."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from synapse.host.checks import LOOK_AFTER, Checks
from synapse.launch import checked
from synapse.messages.inbox import Inbox
from synapse.profiles.loader import load_profile
from tests.support.home import Home, wait
from tests.support.packages import ROOT

NOTE = "has changed since its last check"


@pytest.fixture
def program(home: Home) -> Path:
    """A CLI that has been checked."""
    made = home.path / "agent"
    made.write_text(f"#!/bin/sh\nexec {sys.executable} -P -m synapse.dummy_agent --tui\n")
    made.chmod(0o755)
    home.profile("agent", f"extends: dummy\ncommand: {made}\n")
    with home.ours():
        checked.keep(load_profile("agent"), "1.0", [], [])
    return made


def notes(home: Home) -> list[str]:
    """What a new agent shows, after its start."""
    inbox = Inbox()
    timers: dict[float, Callable[[], None]] = {}
    loop = asyncio.new_event_loop()

    def later(wait: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        timers[wait] = call
        return loop.call_later(wait, call)

    with home.ours():
        Checks(load_profile("agent"), inbox, lambda: None, later).open()
        assert inbox.entries == []
        timers[LOOK_AFTER]()
    loop.close()
    return [entry.outcome for entry in inbox.entries]


def test_a_program_that_was_checked_has_no_note(home: Home, program: Path) -> None:
    assert notes(home) == []


def test_a_changed_program_has_one(home: Home, program: Path) -> None:
    program.write_text(f"{program.read_text()}# another version\n")
    assert [notes(home), notes(home)] == [[NOTE], []]


def test_the_human_sees_it(home: Home, program: Path) -> None:
    program.write_text(f"{program.read_text()}# another version\n")
    with home.terminal("agent", cols=100) as terminal:
        terminal.wait_for(NOTE)
        assert "synapse doctor agent --drive" in terminal.screen.text()


@pytest.fixture
def without_mcp(home: Home, tmp_path: Path) -> Home:
    """A home whose Python has no package `mcp`, and a profile that gives its tools to the CLI."""
    hide = "import sys; sys.modules['mcp'] = None"
    (tmp_path / "usercustomize.py").write_text(hide)
    (tmp_path / "sitecustomize.py").write_text(hide)
    home.env["PYTHONPATH"] = f"{ROOT}:{tmp_path}"
    home.profile("tooled", "extends: dummy\nmcp: true\n")
    return home


def test_doctor_says_in_the_words_of_the_command_that_there_are_no_tools(without_mcp: Home) -> None:
    done = without_mcp.run("doctor", "tooled", check=False)
    said = without_mcp.run("mcp", check=False).stderr.removeprefix("synapse: ").strip()
    assert "pip install 'a2a-synapse[mcp]'" in said
    assert done.returncode == 1 and said in " ".join(done.stdout.split()), done.stdout
    without_mcp.profile("plain", "extends: dummy\n")
    assert "mcp" not in without_mcp.run("doctor", "plain").stdout


def test_the_human_sees_that_there_are_no_tools(without_mcp: Home) -> None:
    with without_mcp.terminal("tooled", cols=100) as terminal:
        terminal.wait_for("has no tools of `synapse mcp`")
        assert "pip install 'a2a-synapse[mcp]'" in terminal.screen.text()


def test_the_log_of_an_agent_in_the_background_says_it(without_mcp: Home) -> None:
    without_mcp.run("start", "tooled", "--name", "t")
    wait(lambda: "pip install 'a2a-synapse[mcp]'" in without_mcp.log("t"), "the line")


def test_with_the_package_nothing_is_said(home: Home) -> None:
    home.profile("tooled", "extends: dummy\nmcp: true\n")
    assert "a2a-synapse[mcp]" not in home.run("doctor", "tooled").stdout
