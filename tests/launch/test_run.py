"""One agent from its start to its end, in this terminal and in the background."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.home import Home, wait

FOREGROUND = """
import sys
from synapse.launch.run import run_agent, terminal_or_error
from synapse.profiles.loader import load_profile
sys.exit(run_agent(load_profile("tiny"), sys.argv[1:], console=terminal_or_error("tiny")))
"""
BACKGROUND = """
import json, sys
from synapse.launch.run import run_agent
from synapse.profiles.loader import load_profile
sys.exit(run_agent(load_profile("tiny"), [], report=lambda message: print(json.dumps(message), flush=True)))
"""
TINY = """\
command: [sh, -c, 'echo "$SYNAPSE_AGENT_NAME $0 $1"; stty size; read line; echo "got $line"; exit 7']
args: [one]
size: {cols: 100, rows: 30}
"""


@pytest.fixture
def tiny(home: Home) -> Home:
    home.profile("tiny", TINY)
    return home


def test_in_the_foreground_the_program_has_the_terminal_and_its_status_is_ours(tiny: Home) -> None:
    with tiny.program([sys.executable, "-c", FOREGROUND, "two"], cols=90, rows=20) as terminal:
        before = terminal.attributes()
        terminal.wait_for("tiny one two")
        terminal.wait_for("20 90")
        assert set(tiny.agents()) == {"tiny"}
        terminal.type("hello\r")
        assert terminal.wait_exit() == 7
        assert "got hello" in terminal.screen.text()
        assert terminal.attributes() == before
    assert tiny.agents() == {}
    assert "ended with status 7" in tiny.log("tiny")


def test_in_the_background_it_reports_when_it_answers_and_when_it_ends(tiny: Home) -> None:
    command = [sys.executable, "-c", BACKGROUND]
    with subprocess.Popen(
        command, env=tiny.env, cwd=tiny.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        entry = json.loads(running.stdout.readline())["ready"]
        assert entry == tiny.agents()["tiny"] | {"status": entry["status"]}
        wait(lambda: "30 100" in tiny.run("screen", "tiny").stdout, "the size of the profile")
        tiny.run("keys", "tiny", "bye", "Enter")
        ended = json.loads(running.stdout.readline())
        assert ended["ended"] == running.wait() == 7
        assert "tiny one" in ended["output"] and "got bye" in ended["output"]
    assert tiny.agents() == {}


def test_a_program_that_cannot_be_executed_leaves_nothing_behind(home: Home) -> None:
    script = home.path / "no-program"
    script.write_text("not a program")
    script.chmod(0o755)
    home.profile("tiny", f"command: {script}\n")
    done = subprocess.run(
        [sys.executable, "-c", BACKGROUND], env=home.env, cwd=home.work, capture_output=True, text=True
    )
    assert "SynapseError: cannot start" in done.stderr and "see `synapse doctor tiny`" in done.stderr
    assert home.agents() == {}


def test_grpc_needs_a_token(tiny: Home) -> None:
    done = tiny.run("start", "tiny", check=False, SYNAPSE_GRPC_PORT="50051")
    assert done.returncode == 2 and "add --token-file FILE or set SYNAPSE_TOKEN" in done.stderr
    assert tiny.agents() == {}
