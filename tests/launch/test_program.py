"""The program of a profile: where it is found, and the environment that it gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from synapse.errors import SynapseError
from synapse.launch.program import background_environment, environment, find_command
from synapse.profiles.loader import load_profile
from tests.support.home import Home

ENTRY: dict[str, object] = {"agent_id": "f" * 64, "name": "reviewer", "endpoint": "http://localhost:8100"}


@pytest.fixture
def tools(home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of PATH."""
    folder = home.path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_program_is_found_on_the_path_and_its_words_stay(home: Home, tools: Path) -> None:
    home.profile("mine", "command: my-cli --chat 'two words'\n")
    program = tools / "my-cli"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(SynapseError):  # not executable yet
        find_command(load_profile("mine"))
    program.chmod(0o755)
    assert find_command(load_profile("mine")) == [str(program), "--chat", "two words"]


def test_a_program_that_is_named_by_its_path_is_not_searched_for(home: Home, tools: Path) -> None:
    home.profile("python", "command: ['{python}', -V]\n")
    assert find_command(load_profile("python")) == [sys.executable, "-V"]
    home.profile("folder", f"command: {tools}\n")
    with pytest.raises(SynapseError, match="is not installed: install it, or name another command"):
        find_command(load_profile("folder"))


@pytest.mark.usefixtures("tools")
def test_a_missing_program_says_how_to_install_it(home: Home) -> None:
    home.profile("mine", "command: my-cli\ninstall: pip install my-cli\n")
    with pytest.raises(
        SynapseError, match="the program 'my-cli', which is not installed: install it with `pip"
    ):
        find_command(load_profile("mine"))


def test_the_environment_is_the_users_with_the_profiles_variables_and_the_agents_own(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.profile("mine", "command: x\nenv: {SET_HERE: '1', NOT_HERE: null}\n")
    monkeypatch.setenv("NOT_HERE", "x")
    monkeypatch.setenv("KEPT", "x")
    monkeypatch.delenv("SYNAPSE_AGENT_NAME", raising=False)
    bare = environment(load_profile("mine"), None)
    assert (bare["SET_HERE"], bare["KEPT"]) == ("1", "x")
    assert "NOT_HERE" not in bare and "SYNAPSE_AGENT_NAME" not in bare
    agent = environment(load_profile("mine"), ENTRY)
    assert (agent["SYNAPSE_AGENT_ID"], agent["SYNAPSE_AGENT_NAME"]) == ("f" * 64, "reviewer")
    assert agent["SYNAPSE_ENDPOINT"] == "http://localhost:8100"
    assert agent["SYNAPSE_EVENTS"].endswith(f"/{'f' * 16}.hook")


def test_in_the_background_nothing_tells_of_the_terminal_that_started_it() -> None:
    env = background_environment(
        {"TERM": "linux", "TMUX": "x", "KITTY_PID": "1", "COLUMNS": "80", "LANG": "C"}
    )
    assert env == {"LANG": "C", "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def test_what_runs_bare_becomes_the_program_itself(home: Home) -> None:
    home.profile("echo", 'command: [sh, -c, \'echo $$ "$0" "$1"\']\n')
    program = (
        "import os; print(os.getpid(), flush=True)\n"
        "from synapse.launch.program import run_bare\n"
        "from synapse.profiles.loader import load_profile\n"
        "run_bare(load_profile('echo'), ['exec', 'two words'])"
    )
    done = subprocess.run([sys.executable, "-c", program], env=home.env, capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert second == f"{first} exec two words"
