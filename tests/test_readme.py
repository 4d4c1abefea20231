"""The README is true: every command it shows in a bash block runs, top to bottom, for a new user."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.home import Home

ROOT = Path(__file__).parent.parent
RUN_BY_CI_ITSELF = {"make test", "make lint", "make bench"}


READMES = {
    "README.md": (
        *("Every step worked", "started a at", "You said: hello", '"status":', "stopped b\n"),
        "stopped bash",
    ),
    "README.ja.md": ("started a at", "こんにちは", '"status":', "stopped b\n", "stopped bash"),
}
SLOW_AND_RUN_ONCE = {"README.ja.md": {"make demo"}}


def commands(name: str) -> list[str]:
    text = (ROOT / name).read_text()
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    skipped = RUN_BY_CI_ITSELF | SLOW_AND_RUN_ONCE.get(name, set())
    return [line for block in blocks for line in block.splitlines() if line and line not in skipped]


@pytest.mark.parametrize("name", READMES)
def test_every_command_runs(home: Home, name: str) -> None:
    script = "set -eo pipefail\n" + "\n".join(commands(name))
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=home.env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for seen in READMES[name]:
        assert seen in done.stdout, done.stdout
    assert home.agents() == {}


def test_every_link_points_somewhere() -> None:
    for path in [*ROOT.glob("README*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_both_languages_have_the_same_content() -> None:
    english, japanese = ((ROOT / name).read_text() for name in READMES)
    for what in (
        r"^## ",
        r"^```\w*$",
        r"^- ",
        r"\]\((?!README)([^)]+)\)",
        r"^(?:mkdir|echo|curl|synapse \w+)",
    ):
        found = [re.findall(what, text, re.MULTILINE) for text in (english, japanese)]
        assert found[0] == found[1], what
