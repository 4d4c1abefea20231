"""The README is true: every command it shows in a bash block runs, top to bottom, for a new user."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.conftest import Home

ROOT = Path(__file__).parent.parent
RUN_BY_CI_ITSELF = {"make test", "make lint", "make bench"}


def commands() -> list[str]:
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and line not in RUN_BY_CI_ITSELF]


def test_every_command_runs(home: Home) -> None:
    script = "set -eo pipefail\n" + "\n".join(commands())
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=home.env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for seen in ("That is all.", "started a at", "You said: hello", '"status":', "stopped b", "shell"):
        assert seen in done.stdout, done.stdout
    assert home.agents() == {}


def test_every_link_points_somewhere() -> None:
    for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
