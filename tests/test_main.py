"""The way into a command: scripts/ and `python -m synapse`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.home import Home, wait

SCRIPTS = Path(__file__).parents[1] / "scripts"

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
    "module", ["synapse.cli.main", "synapse.errors", "synapse.cli.list", "synapse.registry"]
)
def test_ctrl_c_while_it_loads_ends_it_in_silence(home: Home, module: str) -> None:
    program = INTERRUPTED.replace("WORD", repr(module))
    done = subprocess.run(
        [sys.executable, "-c", program, "list"], env=home.env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_who_ignores_ctrl_c_is_not_ended_by_it(home: Home) -> None:
    program = INTERRUPTED.replace("WORD", "'synapse.cli.main'")
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", program, "--version"]
    done = subprocess.run(ignoring, env=home.env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("synapse 0.")


def test_the_scripts_lead_to_the_commands(home: Home) -> None:
    for path, words in (("synapse", ["--version"]), ("synapse-send", []), ("synapse-shell", ["--help"])):
        assert os.access(SCRIPTS / path, os.X_OK)
        done = subprocess.run(
            [sys.executable, SCRIPTS / path, *words], env=home.env, capture_output=True, text=True
        )
        assert "Traceback" not in done.stderr
        assert (done.stdout + done.stderr).removeprefix("usage: ").startswith("synapse")


def test_a_foreign_synapse_in_pythonpath_is_the_agents_affair(home: Home) -> None:
    """Every process of ours imports this Synapse, and the agent gets the user's PYTHONPATH as it is."""
    foreign = home.path / "lib" / "synapse"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").write_text("raise RuntimeError('the wrong synapse')")
    more = {"PYTHONPATH": f"lib:{foreign.parent}"}

    def synapse(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, SCRIPTS / "synapse", *words],
            env={**home.env, **more},
            cwd=home.path,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, ""), words
        return done.stdout

    assert "started dummy" in synapse("start", "dummy")
    synapse("keys", "dummy", "env PYTHONPATH", "Enter")
    wait(lambda: more["PYTHONPATH"] in synapse("screen", "dummy"), "the agent's own PYTHONPATH")
    assert "stopped" in synapse("stop", "dummy")
    assert "Traceback" not in home.log("dummy")


def test_a_synapse_that_is_itself_in_pythonpath_is_found(home: Home) -> None:
    root = str(SCRIPTS.parent)
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from synapse.base import paths; print(paths.our_python())"],
        env={**home.env, "PYTHONPATH": f"/nowhere:{root}"},
        capture_output=True,
        text=True,
    )
    assert "-E" not in done.stdout and "-P" in done.stdout
