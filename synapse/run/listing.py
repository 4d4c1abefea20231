"""What is known of the runs on this machine, from their files."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from typing import Any

from synapse.base import files, paths
from synapse.errors import SynapseError
from synapse.run.journal import Record, Step, folder_of, is_running, run_ids

RECENT = 600.0  # seconds that a run which has ended is shown beside the agents
KEPT = 7 * 24 * 3600.0  # seconds that `prune` keeps a finished run


@dataclass
class Listed:
    """One run. `state`: running, completed, failed, interrupted, or killed."""

    id: str
    script: str
    args: list[str]
    created_at: float
    changed_at: float
    state: str
    error: str
    working_dir: str
    record: Record

    @property
    def title(self) -> str:
        return os.path.basename(self.script).removesuffix(".py")

    @property
    def steps(self) -> list[Step]:
        """As a tree: the calls of a `gather` in their order, whichever was asked first."""
        places: dict[str, int] = {}

        def place(step: Step) -> list[tuple[int, int]]:
            first, *more = step.key.split(".")
            found = [(0, places.setdefault(first, len(places)))]
            for part in more:
                found.append((0, int(part)) if part.isdecimal() else (1, 0))
            return found

        return sorted(self.record.steps.values(), key=place)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "script": self.script,
            "args": self.args,
            "state": self.state,
            "error": self.error,
            "created_at": self.created_at,
            "changed_at": self.changed_at,
            "working_dir": self.working_dir,
            "turns": self.record.turns,
            "tokens": self.record.tokens,
            "messages": self.record.messages,
            "steps": [step_document(step) for step in self.steps],
            "workers": [worker["name"] for worker in self.record.workers],
            "log": [{"at": line["at"], "text": line["text"]} for line in self.record.logs],
        }


def step_document(step: Step) -> dict[str, Any]:
    from synapse.peers.task import A2ATask

    task = A2ATask.from_dict(step.task) if step.task else None
    return {
        "key": step.key,
        "agent": step.agent,
        "state": step.state,
        "attempt": step.attempt,
        "task": step.task_id,
        "prompt": step.prompt,
        "reply": task.text if task else None,
        "error": step.error or None,
        "asked_at": step.asked_at,
        "ended_at": step.ended_at or None,
        "tokens": step.tokens,
    }


def runs() -> list[Listed]:
    """The newest first. A run whose files cannot be read is left out."""
    found = []
    for run_id in run_ids():
        try:
            found.append(read(run_id))
        except SynapseError:
            continue
    return found


def recent(now: float | None = None) -> list[Listed]:
    """The runs that are executed now, and those that ended within the last minutes; the newest first."""
    now = time.time() if now is None else now
    found = []
    for run_id in run_ids():
        folder = os.path.join(paths.runs_dir(), run_id)
        changed = files.changed_ns(os.path.join(folder, "journal.jsonl")) / 1e9
        if now - changed < RECENT or is_running(folder):
            try:
                found.append(read(run_id))
            except SynapseError:
                continue  # removed in between
    return found


def read(run_id: str) -> Listed:
    """One run by its id or the beginning of it."""
    folder = folder_of(run_id)
    about = files.read_object(os.path.join(folder, "run.json"))
    record = Record.read(folder)
    running = is_running(folder)
    changed = max(files.changed_ns(os.path.join(folder, name)) for name in ("run.json", "journal.jsonl"))
    return Listed(
        id=os.path.basename(folder),
        script=str(about.get("script") or "?"),
        args=[str(word) for word in about.get("args") or ()],
        created_at=float(about.get("created_at") or 0),
        changed_at=changed / 1e9,
        state="running" if running else record.outcome or "killed",
        error=record.error,
        working_dir=str(about.get("working_dir") or ""),
        record=record,
    )


def prune(run_id: str | None, now: float | None = None) -> list[str]:
    """Remove one run, or all that ended more than a week ago; a run that is executed is kept."""
    now = time.time() if now is None else now
    if run_id is not None:
        found = [read(run_id)]
        if found[0].state == "running":
            raise SynapseError(
                f"the run {found[0].id} is being executed: `synapse runs cancel {found[0].id}` first."
            )
    else:
        found = [run for run in runs() if run.state != "running" and now - run.changed_at > KEPT]
    for run in found:
        shutil.rmtree(os.path.join(paths.runs_dir(), run.id))
    return [run.id for run in found]
