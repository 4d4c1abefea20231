"""Temporary homes: only one that is ours and whose owner has ended is removed by somebody else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from synapse.selftest import homes
from synapse.selftest.homes import LOCK, remove_abandoned, temporary_home

KILLED = """
import os, signal
from synapse.selftest.homes import temporary_home
with temporary_home() as home:
    (home / "work").mkdir()
    (home / "work" / "file").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def leave_one() -> None:
    subprocess.run([sys.executable, "-c", KILLED], check=False)


def test_a_home_is_removed_at_its_end(place: Path) -> None:
    with temporary_home() as home:
        (home / "work").mkdir()
        assert [path.name for path in place.iterdir()] == [home.name]
    assert list(place.iterdir()) == []


def test_one_whose_owner_was_killed_is_removed(place: Path) -> None:
    leave_one()
    assert len(list(place.iterdir())) == 1
    remove_abandoned()
    assert list(place.iterdir()) == []


def test_one_whose_owner_lives_stays(place: Path) -> None:
    with temporary_home() as home:
        remove_abandoned()
        assert (home / LOCK).exists()


def test_what_nobody_can_prove_to_be_ours_stays(
    place: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a lock file, behind a link, or of another user."""
    (place / "synd-without").mkdir()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / LOCK).write_text("")
    (place / "synd-link").symlink_to(elsewhere)
    remove_abandoned()
    leave_one()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    homes.remove_abandoned()
    assert len(list(place.iterdir())) == 3 and (elsewhere / LOCK).exists()
