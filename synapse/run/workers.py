"""Agents that a run starts for itself, and stops. A run that was killed finds them again by their names."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager

from synapse.base import paths
from synapse.errors import AgentAsks, StepFailed, SynapseError
from synapse.registry import AgentRegistry, Entry
from synapse.run.journal import WORKER, Record
from synapse.run.scope import current
from synapse.run.session import current as current_run

LONGEST = 64  # characters of an agent's name
PATIENCE = 120.0  # seconds to start


class Worker(str):
    """The name of an agent that this run has started."""

    entry: Entry

    @property
    def working_dir(self) -> str:
        return str(self.entry["working_dir"])


@contextmanager
def worker(profile: str, *, worktree: str | bool | None = None, args: Sequence[str] = ()) -> Iterator[Worker]:
    """Start an agent for this run, and stop it at the end of the block.

    `with worker("claude") as w: ask(w, "…")`. With `worktree` (True, or a name) it works in a git worktree of
    its own. It is left running if the run is interrupted or still waits for it: the resumed run finds it.
    """
    run = current_run()
    scope = current(run.scope)
    run.check(scope.prefix)
    name = _name(run.id, profile, scope.worker_key(profile))
    made = Worker(name)
    if all(known["name"] != name for known in run.journal.record.workers):
        # Before it is started, so that `runs cancel` finds it whenever the run is killed.
        run.journal.write(WORKER, name=name, profile=profile)
    made.entry = _running(name) or _start(profile, name, worktree, args)
    run.tell("·", f"{name}: started")
    keep = False
    try:
        yield made
    except BaseException as error:
        keep = _is_awaited(error)
        raise
    finally:
        if not keep:
            stop(name)


def running(record: Record) -> list[str]:
    """The workers of a run that are running now."""
    return [name for worker in record.workers if _running(name := str(worker["name"])) is not None]


def stop(*names: str) -> None:
    """Stop those of these agents that run."""
    if found := [name for name in names if _running(name) is not None]:
        _synapse("stop", *found)


def _is_awaited(error: BaseException) -> bool:
    """Whether a resumed run will want this worker: its step is not over. A step of a `gather` is cancelled
    when another has failed, and all are at Ctrl-C; the task goes on."""
    waits = isinstance(error, StepFailed) and isinstance(error.__cause__, TimeoutError | AgentAsks)
    return waits or isinstance(error, KeyboardInterrupt | CancelledError | asyncio.CancelledError)


def _running(name: str) -> Entry | None:
    entries = AgentRegistry().list_agents().values()
    return next((entry for entry in entries if entry["name"] == name), None)


def _start(profile: str, name: str, worktree: str | bool | None, args: Sequence[str]) -> Entry:
    words = ["start", profile, "--name", name]
    if worktree:
        words.append("--in-worktree" if worktree is True else f"--in-worktree={worktree}")
    _synapse(*words, *(["--", *args] if args else []))
    entry = _running(name)
    if entry is None:
        raise SynapseError(f"{name} has ended at once: see `synapse logs {name}`.")
    return entry


def _synapse(*words: str) -> None:
    command = [*paths.our_python(), "-m", "synapse", *words]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # Ctrl-C is for the run
        )
    except subprocess.TimeoutExpired:
        raise SynapseError(f"`synapse {' '.join(words)}` did not end within {PATIENCE:g} s.") from None
    if done.returncode:
        raise SynapseError(done.stderr.strip().removeprefix("synapse: ") or f"status {done.returncode}")


def _name(run_id: str, profile: str, key: str) -> str:
    name = re.sub(r"[^\w-]", "-", f"{run_id}-{profile}-{key}")
    return name if len(name) <= LONGEST else f"{name[-LONGEST:].lstrip('-_')}"
