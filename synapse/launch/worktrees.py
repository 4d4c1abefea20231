"""Git worktrees for agents: each has a directory and a branch of its own, so that agents do not overwrite
each other's files.

`~/.synapse/worktrees/<repository>/<name>` is the worktree; `<name>.json` beside it says where it came from.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from synapse.base import files, paths
from synapse.base.digest import sha256_hex
from synapse.errors import SynapseError, UsageError
from synapse.registry import AgentRegistry

BRANCHES = "synapse/"
MOST_NAMES = 1000


@dataclass(frozen=True)
class Worktree:
    """`repository` is the tree that it was made from; `base` its branch, or the commit of a detached head."""

    name: str
    path: str
    repository: str
    branch: str
    base: str
    created_at: float

    def agents(self) -> list[str]:
        """The agents that work in it."""
        inside = self.path + os.sep
        entries = AgentRegistry().list_agents().values()
        return [str(e["name"]) for e in entries if f"{e['working_dir']}{os.sep}".startswith(inside)]

    def changes(self) -> list[str]:
        """The files that are not committed, as `git status` prints them."""
        return git(self.path, "status", "--porcelain", "--untracked-files=all").splitlines()

    def distance(self) -> tuple[int, int]:
        """How many commits it is ahead of its base, and behind it."""
        counts = git(self.path, "rev-list", "--left-right", "--count", f"{self.base}...{self.branch}").split()
        return int(counts[1]), int(counts[0])

    def conflicts(self) -> list[str]:
        """The files that cannot be merged into the base."""
        done = _run(
            self.path, "merge-tree", "--write-tree", "--name-only", "--no-messages", self.base, self.branch
        )
        if done.returncode not in (0, 1):
            raise SynapseError(f"git cannot compare {self.name} with {self.base}: {_said(done)}")
        return done.stdout.splitlines()[1:] if done.returncode else []


def create(name: str | None, prefix: str, directory: str | None = None) -> tuple[Worktree, str]:
    """The worktree `name`, made if it is not there; without a name a new one that is called after `prefix`.

    Returns it with the directory in it that corresponds to the current one. Raises UsageError where there is
    no repository, or one that cannot have worktrees.
    """
    here = directory or os.getcwd()
    top = _top(here)
    folder = paths.private_dir(_folder(top))
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,59}", name):
        raise UsageError(f"{name!r} cannot be the name of a worktree: use letters, digits, `.`, `_` and `-`.")
    with _lock(folder):
        if name is None:
            name = _free(folder, top, prefix)
        found = _read(folder, name) or _add(folder, name, top)
    below = os.path.relpath(os.path.realpath(here), os.path.realpath(top))
    inside = os.path.join(found.path, below)
    return found, os.path.normpath(inside) if os.path.isdir(inside) else found.path


def list_worktrees() -> list[Worktree]:
    """Every worktree that Synapse has made and that is still there."""
    root = _root()
    found = []
    for repository in _names(root):
        folder = os.path.join(root, repository)
        for entry in _names(folder):
            if entry.endswith(".json") and (kept := _read(folder, entry.removesuffix(".json"))) is not None:
                found.append(kept)
    return found


def find(name: str) -> Worktree:
    """A worktree by its name, of this repository if others have one of that name too."""
    found = [kept for kept in list_worktrees() if kept.name == name]
    if len(found) > 1:
        here = [kept for kept in found if os.getcwd().startswith((kept.repository, kept.path))]
        found = here or found
    if len(found) > 1:
        where = ", ".join(paths.shortened(kept.repository) for kept in found)
        raise UsageError(
            f"several repositories have a worktree {name!r} ({where}): go into one of them first."
        )
    if not found:
        raise UsageError(f"there is no worktree {name!r}: `synapse worktrees` lists them.")
    return found[0]


def merge(worktree: Worktree) -> str:
    """Merge its branch into its base, in the working tree that it was made from. Returns what git says."""
    if changed := worktree.changes():
        raise SynapseError(
            f"{worktree.name} has {_uncommitted(changed)}: commit first, in {paths.shortened(worktree.path)}."
        )
    current = _head(worktree.repository)
    if current != worktree.base:
        raise SynapseError(
            f"{paths.shortened(worktree.repository)} is on {shown(current)}, not on {shown(worktree.base)}: "
            "switch first."
        )
    if conflicts := worktree.conflicts():
        raise SynapseError(
            f"{worktree.name} conflicts with {shown(worktree.base)} in {', '.join(conflicts)}: "
            f"merge {shown(worktree.base)} into it first."
        )
    return git(worktree.repository, "merge", "--no-edit", worktree.branch).strip()


def remove(worktree: Worktree, force: bool = False) -> str:
    """Remove it; its branch is deleted if it is merged, and kept otherwise. Returns which of them."""
    if agents := worktree.agents():
        raise SynapseError(f"{', '.join(agents)} works in {worktree.name}: `synapse stop {agents[0]}` first.")
    if os.path.isdir(worktree.path) and not force and (changed := worktree.changes()):
        raise SynapseError(f"{worktree.name} has {_uncommitted(changed)}: commit first, or use --force.")
    folder = os.path.dirname(worktree.path)
    with _lock(folder):
        if os.path.isdir(worktree.path):
            git(worktree.repository, "worktree", "remove", "--force", worktree.path)
        merged = worktree.base != worktree.branch and _is_merged(worktree)
        if merged:
            git(worktree.repository, "branch", "-D", worktree.branch)
        os.unlink(os.path.join(folder, f"{worktree.name}.json"))
    return f"its branch {worktree.branch} was {'deleted' if merged else 'kept: it is not merged'}"


def git(directory: str, *words: str) -> str:
    """What git prints. Raises SynapseError with its own sentence."""
    done = _run(directory, *words)
    if done.returncode:
        raise SynapseError(f"git {words[0]} failed in {paths.shortened(directory)}: {_said(done)}")
    return done.stdout


def _run(directory: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.run(
            ["git", "-C", directory, *words],
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
        )
    except FileNotFoundError:
        raise SynapseError("git is not installed: worktrees need it.") from None


def _said(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1].removeprefix("fatal: ").removeprefix("error: ") if lines else f"status {done.returncode}"


def _top(here: str) -> str:
    done = _run(here, "rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if done.returncode:
        raise UsageError(f"{paths.shortened(here)} is in no git repository: leave --in-worktree out.")
    bare, inside = done.stdout.split()
    if bare == "true" or inside == "false":
        raise UsageError("this is a bare repository, or the directory of one: go into a working tree first.")
    if _run(here, "rev-parse", "--verify", "--quiet", "HEAD").returncode:
        raise UsageError("this repository has no commit yet: commit something first.")
    return git(here, "rev-parse", "--show-toplevel").removesuffix("\n")


def shown(base: str) -> str:
    """A branch, or the beginning of a commit."""
    return base[:12] if re.fullmatch(r"[0-9a-f]{40,64}", base) else base


def _head(top: str) -> str:
    """The branch that is checked out, or the commit of a detached head."""
    branch = _run(top, "symbolic-ref", "--quiet", "--short", "HEAD").stdout.strip()
    return branch or git(top, "rev-parse", "HEAD").strip()


def _add(folder: str, name: str, top: str) -> Worktree:
    base = _head(top)
    path, branch = os.path.join(folder, name), BRANCHES + name
    made = Worktree(name, path, top, branch, base, time.time())
    git(top, "worktree", "prune")  # one whose directory was deleted by hand is in the way
    known = _run(top, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").returncode == 0
    git(top, "worktree", "add", "--quiet", *((path, branch) if known else ("-b", branch, path)))
    files.replace(os.path.join(folder, f"{name}.json"), json.dumps(asdict(made)).encode())
    return made


def _read(folder: str, name: str) -> Worktree | None:
    kept = files.read_object(os.path.join(folder, f"{name}.json"))
    try:
        found = Worktree(**kept)
    except TypeError:
        return None
    return found if os.path.isdir(found.path) else None


def _free(folder: str, top: str, prefix: str) -> str:
    taken = set(_names(folder)) | set(git(top, "branch", "--format=%(refname:short)").split())
    for number in range(1, MOST_NAMES):
        name = prefix if number == 1 else f"{prefix}-{number}"
        if name not in taken and BRANCHES + name not in taken:
            return name
    raise SynapseError(f"there are {MOST_NAMES} worktrees: `synapse worktrees remove NAME` removes one.")


def _is_merged(worktree: Worktree) -> bool:
    done = _run(worktree.repository, "merge-base", "--is-ancestor", worktree.branch, worktree.base)
    return done.returncode == 0


def _root() -> str:
    return os.path.join(paths.synapse_home(), "worktrees")


def _folder(top: str) -> str:
    """Repositories of the same name in different places have different folders."""
    common = os.path.realpath(os.path.join(top, git(top, "rev-parse", "--git-common-dir").removesuffix("\n")))
    main = os.path.dirname(common) if os.path.basename(common) == ".git" else common
    return os.path.join(_root(), f"{os.path.basename(main) or 'repository'}-{sha256_hex(common)[:6]}")


@contextmanager
def _lock(folder: str) -> Iterator[None]:
    """Git refuses to add several worktrees at once."""
    lock = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _uncommitted(changed: list[str]) -> str:
    return f"{len(changed)} uncommitted file{'s' if len(changed) != 1 else ''}"
