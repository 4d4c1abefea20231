"""The way into a command: scripts/ and `python -m synapse`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Home

SCRIPTS = Path(__file__).parent.parent / "scripts"

INTERRUPTED = """
import os, runpy, signal, sys

class Finder:
    def find_spec(self, name, path, target=None):
        if name == WORD:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
runpy.run_module("synapse", run_name="__main__")
"""


@pytest.mark.parametrize(
    "module", ["synapse.cli", "synapse.errors", "synapse.cli.listing", "synapse.registry"]
)
def test_ctrl_c_while_it_loads_ends_it_in_silence(home: Home, module: str) -> None:
    program = INTERRUPTED.replace("WORD", repr(module))
    done = subprocess.run(
        [sys.executable, "-c", program, "list"], env=home.env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_who_ignores_ctrl_c_is_not_ended_by_it(home: Home) -> None:
    program = INTERRUPTED.replace("WORD", "'synapse.cli'")
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", program, "--version"]
    done = subprocess.run(ignoring, env=home.env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("synapse 0.")


def test_the_scripts_lead_to_the_commands(home: Home) -> None:
    for path, words in (("synapse", ["--version"]), ("synapse-send", []), ("synapse-shell", [])):
        assert os.access(SCRIPTS / path, os.X_OK)
        done = subprocess.run(
            [sys.executable, SCRIPTS / path, *words], env=home.env, capture_output=True, text=True
        )
        assert "Traceback" not in done.stderr
        assert (done.stdout + done.stderr).startswith("synapse")
