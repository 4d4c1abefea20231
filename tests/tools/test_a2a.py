"""The low-level tool, as a module and by its path."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from synapse.tools import a2a
from tests.support.home import Home

MODULE = ["-P", "-m", "synapse.tools.a2a"]


def tool(home: Home, how: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *how, *words],
        cwd=home.work,
        env=home.env,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_list_and_send(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    for how in (MODULE, [str(Path(a2a.__file__))]):
        (entry,) = json.loads(tool(home, how, "list").stdout)
        assert entry["name"] == "a" and entry["endpoint"]
        task = json.loads(tool(home, how, "send", "--target", "a", "--priority", "1", "say x").stdout)
        assert task["state"] in ("submitted", "working") and task["id"]
    done = tool(home, MODULE, "send", "--target", "a", "--return", "--", "--hello you")
    assert "--hello you" in json.loads(done.stdout)["artifacts"][0]["data"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 2, "required"),
        (("send", "hi"), 2, "--target"),
        (("send", "--target", "nobody", "the", "--colour"), 2, "--colour is no flag (nearest: --"),
        (("send", "--target", "nobody", "hi"), 3, "no agent named"),
        (("send", "--target", "nobody", "--priority", "9", "hi"), 2, "from 1 to 5"),
    ],
)
def test_what_goes_wrong(home: Home, words: tuple[str, ...], status: int, said: str) -> None:
    done = tool(home, MODULE, *words)
    assert done.returncode == status and said in done.stderr and done.stdout == ""
