"""`make setup` and the lock files: what is installed, and when it is installed again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")

# In place of Python, pip and uv: each call is a line in `calls`. A file `fail` or `kill` says how pip ends.
PYTHON = """\
#!/bin/sh
echo "python $*" >>calls
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    *"-r "*) echo "Collecting fastapi==1 (from -r x)"; test ! -e kill || kill -9 $PPID; test ! -e fail ;;
esac
"""
UV = """\
#!/bin/sh
echo "uv $*" >>calls
test ! -e uv-fails
"""


class Clone:
    def __init__(self, path: Path) -> None:
        self.path = path
        for name in ("Makefile", "pyproject.toml", *LOCKS):
            shutil.copy(ROOT / name, path / name)
        self.program("python", PYTHON)

    def program(self, name: str, text: str) -> None:
        self.path.joinpath("bin").mkdir(exist_ok=True)
        file = self.path / "bin" / name
        file.write_text(text)
        file.chmod(0o755)

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.path}/bin:/usr/bin:/bin"
        command = ["make", target, f"PYTHON={self.path}/bin/python"]
        env = {"PATH": path, "HOME": str(self.path)}
        return subprocess.run(command, cwd=self.path, env=env, capture_output=True, text=True)

    def steps(self, target: str) -> list[str]:
        """What `make target` does: `venv`, or who installs what."""
        log = self.path / "calls"
        log.unlink(missing_ok=True)
        self.make(target)
        lines = log.read_text().splitlines() if log.exists() else []
        found = (re.search(r"^(python|uv) .*(venv|-e \.|requirements.*)$", line) for line in lines)
        return [f"{step[1]} {step[2]}" for step in found if step]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    if shutil.which("uv", path="/usr/bin:/bin"):
        pytest.skip("uv is installed for all users")
    return Clone(tmp_path)


VENV, PROGRAM, TOOLS = (
    ["python venv"],
    ["python requirements.lock", "python -e ."],
    ["python requirements-dev.lock"],
)


def test_a_user_gets_only_what_the_program_needs(clone: Clone) -> None:
    assert clone.steps("setup") == VENV + PROGRAM
    assert clone.steps("setup") == []
    assert clone.steps("dev") == TOOLS
    assert clone.steps("dev") == clone.steps("setup") == []


def test_people_see_what_is_being_done(clone: Clone) -> None:
    said = clone.make("setup").stdout
    assert "creating .venv" in said and "fastapi==1" in said and "installing Synapse" in said


@pytest.mark.parametrize(
    ("changed", "steps"),
    [("requirements.lock", PROGRAM + TOOLS), ("pyproject.toml", PROGRAM + TOOLS), (LOCKS[1], TOOLS)],
)
def test_a_changed_lock_is_noticed(clone: Clone, changed: str, steps: list[str]) -> None:
    clone.make("dev")
    ahead = clone.path.joinpath(".venv/.ready-dev").stat().st_mtime + 1
    os.utime(clone.path / changed, (ahead, ahead))
    assert clone.steps("dev") == steps


def test_uv_is_used_where_it_is_installed_and_pip_where_it_fails(clone: Clone) -> None:
    clone.program("uv", UV)
    assert clone.steps("setup") == [*VENV, "uv requirements.lock", "python -e ."]
    (clone.path / "uv-fails").touch()
    assert clone.steps("dev") == ["uv requirements-dev.lock", "python requirements-dev.lock"]


def test_what_pip_refuses_is_tried_again_in_the_same_place(clone: Clone) -> None:
    (clone.path / "fail").touch()
    done = clone.make("setup")
    assert done.returncode != 0
    (clone.path / "fail").unlink()
    assert clone.steps("setup") == PROGRAM


def test_what_was_interrupted_begins_afresh(clone: Clone) -> None:
    (clone.path / "kill").touch()
    assert clone.make("setup").returncode != 0
    (clone.path / "kill").unlink()
    assert clone.steps("setup") == VENV + PROGRAM
    (clone.path / "kill").touch()
    assert clone.make("dev").returncode != 0
    (clone.path / "kill").unlink()
    assert clone.steps("setup") == [], "the program is complete"
    assert clone.steps("dev") == VENV + PROGRAM + TOOLS


def test_a_venv_of_a_python_that_is_gone_is_made_again(clone: Clone) -> None:
    clone.make("setup")
    (clone.path / ".venv/.ready").unlink()
    (clone.path / ".venv/bin/python").unlink()
    assert clone.steps("setup") == VENV + PROGRAM


# --- the lock files ---------------------------------------------------------------------------------------


def pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE))


def names(requirements: list[object]) -> set[str]:
    wanted = [re.split(r"[^\w-]", name)[0] for name in requirements if isinstance(name, str)]
    return {name.lower().replace("_", "-") for name in wanted}


def test_the_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    program, tools = pins("requirements.lock"), pins("requirements-dev.lock")
    assert names(project["project"]["dependencies"]) | names(groups["build"]) <= set(program)
    assert names(groups["dev"]) <= set(tools)
    only_tools = names(groups["dev"]) - names(project["project"]["dependencies"])  # an extra is in both
    only_tools -= {"cryptography"}  # the SDK needs it, too
    assert not only_tools & set(program), "the demo does not wait for them"
    assert program.items() <= tools.items(), "the same versions in both"


@pytest.mark.parametrize("lock", LOCKS)
def test_the_locks_hold_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text and "index-url" not in text.replace("--no-emit-index-url", "")
    entries = re.split(r"\n(?=[a-z])", text)[1:]
    assert len(entries) == len(pins(lock)) and all("--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize(
    ("system", "machine", "release", "installed"),
    [
        ("linux", "x86_64", "6.1.0", True),
        ("linux", "aarch64", "5.15.0-91-generic", True),
        ("linux", "riscv64", "6.1.0", False),
        ("linux", "armv7l", "6.1.0", False),
        ("darwin", "arm64", "22.6.0", True),
        ("darwin", "x86_64", "24.1.0", True),
        ("darwin", "x86_64", "21.6.0", False),
        ("freebsd14", "amd64", "14.0-RELEASE", False),
    ],
)
def test_the_screen_model_is_installed_where_it_has_builds(
    system: str, machine: str, release: str, installed: bool
) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    requirements = [Requirement(text) for text in declared]
    here = {"sys_platform": system, "platform_machine": machine, "platform_release": release}
    wanted = {one.name for one in requirements if one.marker is None or one.marker.evaluate(here)}
    assert ("pyghostty" in wanted) == installed and "pyavt" in wanted
