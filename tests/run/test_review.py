"""What `synapse review` shows to the reviewer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from synapse.runs.review import diff


def git(*words: str) -> None:
    mail = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *mail, *words], check=True, capture_output=True)


def test_new_files_are_a_part_of_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    for name, text in (("old.txt", "one\n"), (".gitignore", "*.log\n"), ("sub/a.txt", "a\n")):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    git("add", "-A")
    git("commit", "-qm", "one")
    assert diff(None) == ""
    Path("old.txt").write_text("two\n")
    Path("日本 new.txt").write_text("fresh\n")
    Path("made.log").write_text("noise\n")
    for folder in (".", "sub"):
        monkeypatch.chdir(tmp_path / folder)
        change = diff(None)
        assert "-one\n+two\n" in change and "+fresh\n" in change and "noise" not in change
    assert "+fresh" not in diff("HEAD")


def test_a_directory_without_git_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SystemExit, match="git cannot show the change"):
        diff(None)
