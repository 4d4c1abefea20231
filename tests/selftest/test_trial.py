"""What a CLI gets from doctor: a home of its own, and the look of the user's terminal."""

from __future__ import annotations

import pytest

from synapse.profiles.loader import load_profile
from synapse.selftest.trial import version_of
from tests.support.home import Home

SHOWS = 'echo "1.0 $TERM $TERM_PROGRAM $LANG ${API_KEY:-no key} $([ "$HOME" = "%s" ] || echo own home)"'


@pytest.mark.parametrize(("term", "given"), [("xterm-kitty", "xterm-kitty"), ("dumb", "xterm-256color")])
def test_it_learns_which_terminal_it_is_in_and_nothing_else(
    home: Home, monkeypatch: pytest.MonkeyPatch, term: str, given: str
) -> None:
    program = home.work / "it"
    program.write_text(f"#!/bin/sh\n{SHOWS % home.env['HOME']}\n")
    program.chmod(0o700)
    home.profile("it", f"command: {program}\n")
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("TERM_PROGRAM", "ghostty")
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    monkeypatch.setenv("API_KEY", "secret")
    assert version_of(load_profile("it")) == f"1.0 {given} ghostty ja_JP.UTF-8 no key own home"
