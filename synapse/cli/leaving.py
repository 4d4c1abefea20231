"""Ctrl-C while something is waited for: what goes on is said, and cancelled if the human says so."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from synapse.a2a_client import AsyncA2AClient
from synapse.base.text import for_output
from synapse.errors import SynapseError
from synapse.peers.task import A2ATask

INTERRUPTED = 130  # the exit status

Cancel = Callable[[str], Coroutine[Any, Any, A2ATask]]  # given the task's id


@dataclass
class Underway:
    """A message that was sent, and the task that it has become."""

    name: str  # whose it is
    cancel: Cancel
    elsewhere: bool = False
    task: str = ""  # its id, once the agent has told it
    ended: bool = False
    refused: bool = False

    def take(self, task: A2ATask) -> A2ATask:
        self.task, self.ended = task.id, task.ended
        return task

    @property
    def short(self) -> str:
        return for_output(self.task) if self.elsewhere else self.task[:8]

    @property
    def shows(self) -> str:
        return (
            f"synapse external task {self.name} {self.short}"
            if self.elsewhere
            else f"synapse task {self.short}"
        )

    @property
    def answers(self) -> str:
        what = f"external send {self.name} --task" if self.elsewhere else "input"
        return f"synapse {what} {self.short}"

    @property
    def cancels(self) -> str:
        what = f"external cancel {self.name}" if self.elsewhere else "cancel"
        return f"synapse {what} {self.short}"


def elsewhere(client: AsyncA2AClient, alias: str, task_id: str = "") -> Underway:
    """A message to an agent elsewhere; `task_id` of the task that it is an answer to."""

    async def cancel(task_id: str) -> A2ATask:
        return await client.external.cancel_task(alias, task_id)

    return Underway(alias, cancel, elsewhere=True, task=task_id)


def leave(sent: Sequence[Underway]) -> int:
    """The exit status. Asks where somebody can answer, once for all of them."""
    sent = sorted(sent, key=lambda one: one.name)
    if sent and sys.stderr.isatty():
        _say("")  # what is on the line belongs to the wait
    unknown = [one.name for one in sent if not one.task and not one.refused]
    if unknown:
        _say(f"whether {_listed(unknown)} got the message is not known")
    going = [one for one in sent if one.task and not one.ended]
    if not going:
        return INTERRUPTED
    try:
        if sys.stdin.isatty() and sys.stderr.isatty() and _wants_none_of(going):
            asyncio.run(_cancel(going))
    except KeyboardInterrupt:
        _say("")
    _tell([one for one in going if not one.ended])
    return INTERRUPTED


def _wants_none_of(going: Sequence[Underway]) -> bool:
    names = _listed([one.name for one in going])
    one = len(going) == 1
    question = "goes on with it. Cancel the task?" if one else "go on with it. Cancel the tasks?"
    sys.stderr.write(f"{names} {question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _cancel(going: Sequence[Underway]) -> None:
    """All at once. Of what could not be cancelled it is said where to look."""

    async def cancel(one: Underway) -> None:
        try:
            state = (await one.cancel(one.task)).status
            sentence = f"{one.name} has not canceled it yet: it is {for_output(state)}"
        except SynapseError as error:
            state, sentence = "", for_output(str(error)).rstrip(".")
        one.ended = True
        if state == "canceled":
            _say(f"canceled {one.short}" + (f" of {one.name}" if len(going) > 1 else ""))
        else:
            _say(f"synapse: {sentence}; `{one.shows}` shows what becomes of it.")

    await asyncio.gather(*map(cancel, going))


def _tell(going: Sequence[Underway]) -> None:
    if len(going) == 1:
        (one,) = going
        _say(f"{one.name} goes on: `{one.shows}` shows the reply, `{one.cancels}` cancels the task")
    elif going:  # on this machine: only they are sent something together
        names = _listed([f"{one.name} ({one.short})" for one in going])
        _say(f"{names} go on: `synapse task ID` shows a reply, `synapse cancel ID` cancels a task")


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
