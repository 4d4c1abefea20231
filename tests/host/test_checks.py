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
from tests.support.home import Home

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
