"""Cancels what a run has left under way: the tasks of its steps, and its workers."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from synapse.api import aio
from synapse.errors import SynapseError, UsageError
from synapse.peers.local import KIND as LOCAL
from synapse.run.journal import ENDED, FAILED, Journal, Record, Step, folder_of, is_running
from synapse.run.workers import running, stop

PATIENCE = 10.0  # seconds for a run to end
ENDS = {"completed": "completed", "failed": "failed", "canceled": "been canceled"}
ON_THE_WAY = 1.0  # seconds that a request takes at most


def cancel_run(run_id: str) -> list[str]:
    """End the process of a run and cancel what it has asked. Returns what was done, a line for each.

    Raises UsageError for a run that has ended and has left nothing under way: what it came to stays."""
    folder = folder_of(run_id)
    was_running = is_running(folder)
    if was_running:
        _end_process(folder)
    journal = Journal(folder)
    try:
        outcome = journal.record.outcome
        if not was_running and outcome in ENDS and not under_way(journal.record):
            raise UsageError(f"the run {os.path.basename(folder)} has {ENDS[outcome]}: nothing is under way.")
        done = cancel_steps(journal)
        journal.write(ENDED, outcome="canceled")
    finally:
        journal.close()
    return [*done, f"canceled {os.path.basename(folder)}"]


def cancel_steps(journal: Journal) -> list[str]:
    """Cancel the tasks that are under way and stop the workers. A step that has ended in the meantime keeps
    its reply: the resumed run finds it."""

    async def cancel_all() -> list[str]:
        return list(await asyncio.gather(*(_cancel(step, journal) for step in _going(journal.record))))

    done = asyncio.run(cancel_all())
    names = running(journal.record)
    stop(*names)
    return done + [f"stopped {name}" for name in names]


def under_way(record: Record) -> list[str]:
    """The steps and the workers that go on if nobody cancels them, as a human reads them."""
    steps = [f"step {step.key} ({step.agent})" for step in _going(record)]
    return steps + [f"worker {name}" for name in running(record)]


def _going(record: Record) -> list[Step]:
    return [step for step in record.steps.values() if step.state == "working"]


async def _cancel(step: Step, journal: Journal) -> str:
    peer = aio.directory().at(step.address, step.agent)
    try:
        task_id = step.task_id or await _task_of(step)
        status = (await peer.cancel(task_id)).status if task_id else "canceled"
    except SynapseError as error:
        return f"step {step.key}: {error}"
    if status == "canceled":
        journal.write(FAILED, key=step.key, error="canceled with the run", canceled=True)
    return f"step {step.key}: {status}"


async def _task_of(step: Step) -> str:
    """The task of a step whose run was killed before it knew the task's id; empty if the agent has not got
    it. Its request may still be on the way."""
    from synapse.tasks.shelf import find_request

    kind, _, agent_id = step.address.partition(":")
    until = time.monotonic() + ON_THE_WAY
    while kind == LOCAL and time.monotonic() < until:
        if (found := find_request(agent_id, step.request_id)) is not None:
            return found.id
        await asyncio.sleep(0.05)
    return ""


def _end_process(folder: str) -> None:
    with open(os.path.join(folder, "lock"), "rb") as file:
        pid = int(file.read().strip() or 0)
    deadline = time.monotonic() + PATIENCE
    while pid and is_running(folder):
        try:
            os.kill(pid, signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.05)
