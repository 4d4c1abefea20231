"""Git worktrees of agents."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from synapse.errors import SynapseError, UsageError
from synapse.launch import worktrees
from tests.support.home import Home

WHO = ["-c", "user.name=n", "-c", "user.email=e@example.org"]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *WHO, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    git(folder, "add", name)
    git(folder, "commit", "-qm", f"{name}: {text}")


@pytest.fixture
def repository(home: Home) -> Path:
    folder = home.work / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "src/f.py", "first\n")
    return folder


def test_a_worktree_has_a_branch_and_the_directory_that_one_was_in(home: Home, repository: Path) -> None:
    made, inside = worktrees.create(None, "claude", str(repository / "src"))
    assert made.name == "claude" and made.branch == "synapse/claude" and made.base == "main"
    assert inside == f"{made.path}/src" and Path(inside, "f.py").read_text() == "first\n"
    assert str(home.path / "synapse" / "worktrees") in made.path
    assert worktrees.create(None, "claude", str(repository))[0].name == "claude-2"
    assert worktrees.create("claude", "codex", str(repository))[0] == made  # a name means the same one again


def test_twenty_at_once(repository: Path) -> None:
    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(lambda _: worktrees.create(None, "w", str(repository))[0], range(20)))
    assert len({one.path for one in made}) == 20 and all(Path(one.path, "src/f.py").exists() for one in made)
    assert len(worktrees.list_worktrees()) == 20


def test_ahead_behind_changes_and_conflicts(repository: Path) -> None:
    made = worktrees.create("x", "", str(repository))[0]
    commit(Path(made.path), "src/f.py", "theirs\n")
    commit(Path(made.path), "new.py", "new\n")
    assert made.distance() == (2, 0) and made.changes() == [] and made.conflicts() == []
    commit(repository, "src/f.py", "ours\n")
    (Path(made.path) / "draft.txt").write_text("half")
    assert (
        made.distance() == (2, 1) and made.changes() == ["?? draft.txt"] and made.conflicts() == ["src/f.py"]
    )


def test_merge_and_remove(repository: Path) -> None:
    made = worktrees.create("x", "", str(repository))[0]
    commit(Path(made.path), "new.py", "new\n")
    (Path(made.path) / "draft.txt").write_text("half")
    with pytest.raises(SynapseError, match="x has 1 uncommitted file: commit first"):
        worktrees.merge(made)
    with pytest.raises(SynapseError, match="x has 1 uncommitted file: commit first"):
        worktrees.remove(made)
    (Path(made.path) / "draft.txt").unlink()
    worktrees.merge(made)
    assert (repository / "new.py").read_text() == "new\n"
    assert worktrees.remove(made) == "its branch synapse/x was deleted"
    assert worktrees.list_worktrees() == [] and not Path(made.path).exists()
    assert git(repository, "branch", "--list", "synapse/*") == ""


def test_a_branch_that_is_not_merged_is_kept(repository: Path) -> None:
    made = worktrees.create("x", "", str(repository))[0]
    commit(Path(made.path), "new.py", "new\n")
    assert worktrees.remove(made) == "its branch synapse/x was kept: it is not merged"
    again = worktrees.create("x", "", str(repository))[0]
    assert (Path(again.path) / "new.py").exists()


def test_a_conflict_or_another_branch_is_not_merged(repository: Path) -> None:
    made = worktrees.create("x", "", str(repository))[0]
    commit(Path(made.path), "src/f.py", "theirs\n")
    git(repository, "switch", "-qc", "other")
    with pytest.raises(SynapseError, match="is on other, not on main: switch first"):
        worktrees.merge(made)
    git(repository, "switch", "-q", "main")
    commit(repository, "src/f.py", "ours\n")
    with pytest.raises(SynapseError, match=r"x conflicts with main in src/f\.py"):
        worktrees.merge(made)


def test_a_dirty_tree_and_a_detached_head_are_no_obstacle(repository: Path) -> None:
    (repository / "src/f.py").write_text("changed, not committed\n")
    git(repository, "checkout", "-q", "--detach")
    made = worktrees.create("x", "", str(repository))[0]
    assert Path(made.path, "src/f.py").read_text() == "first\n"
    assert made.base == git(repository, "rev-parse", "HEAD") and made.distance() == (0, 0)
    commit(Path(made.path), "new.py", "new\n")
    worktrees.merge(made)
    assert (repository / "new.py").exists()
    commit(Path(made.path), "newer.py", "newer\n")
    with pytest.raises(SynapseError, match=f"is on [0-9a-f]{{12}}, not on {made.base[:12]}: switch first"):
        worktrees.merge(made)


def test_a_worktree_of_a_worktree_and_of_a_submodule(home: Home, repository: Path) -> None:
    first = worktrees.create("x", "", str(repository))[0]
    second = worktrees.create("y", "", first.path)[0]
    assert os.path.dirname(first.path) == os.path.dirname(second.path) and second.base == "synapse/x"
    outer = home.work / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "inner")
    git(outer, "commit", "-qm", "inner")
    assert Path(worktrees.create("z", "", str(outer / "inner"))[0].path, "src/f.py").exists()


def test_where_it_cannot_be_done(home: Home, repository: Path) -> None:
    with pytest.raises(UsageError, match="is in no git repository"):
        worktrees.create("x", "", str(home.work))
    bare = home.work / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(repository), str(bare)], check=True)
    with pytest.raises(UsageError, match="bare repository"):
        worktrees.create("x", "", str(bare))
    empty = home.work / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    with pytest.raises(UsageError, match="no commit yet"):
        worktrees.create("x", "", str(empty))
    with pytest.raises(UsageError, match="cannot be the name of a worktree"):
        worktrees.create("../x", "", str(repository))


def test_an_agent_works_in_its_worktree(
    home: Home, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.work = repository
    started = home.run("start", "dummy", "--in-worktree", "--name", "w")
    assert "worktree w on branch synapse/w" in started.stderr
    path = str(home.agents()["w"]["working_dir"])
    assert home.run("send", "w", "--return", "cwd").stdout.strip() == path and path != str(repository)
    (listed,) = json.loads(home.run("worktrees", "--json").stdout)
    assert listed["agents"] == ["w"] and (listed["ahead"], listed["behind"]) == (0, 0)
    refused = home.run("worktrees", "remove", "w", check=False)
    assert refused.returncode == 1 and "w works in w: `synapse stop w` first" in refused.stderr
    home.run("stop", "w")
    assert "0 ahead, 0 behind main" in home.run("worktrees").stdout
    assert home.run("worktrees", "remove", "w").stdout.startswith(
        "removed w; its branch synapse/w was deleted"
    )
    assert home.run("worktrees", "merge", "w", check=False).returncode == 2


def test_a_worker_of_a_run_has_a_worktree(home: Home, repository: Path) -> None:
    home.work = repository
    block = 'with worker("dummy", worktree="side") as w:\n    print(ask(w, "cwd"))\n'
    script = f"from synapse.run import ask, worker\n{block}"
    (home.path / "s.py").write_text(script)
    assert home.run("run", str(home.path / "s.py")).stdout.strip().endswith("/side")
