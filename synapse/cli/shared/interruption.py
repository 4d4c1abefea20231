"""Ctrl-C during a wait: prints which tasks go on, and cancels them if the human says so."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from synapse.cli.shared.output import say
from synapse.errors import SynapseError
from synapse.peers.base import Commands, Peer
from synapse.peers.task import A2ATask, Json

INTERRUPTED = 130  # the exit status


@dataclass
class Underway:
    """A message that was sent, and the task that it has become."""

    peer: Peer
    task: str = ""  # its id, once the agent has reported it
    ended: bool = False
    refused: bool = False

    def note(self, _: str, data: Json) -> None:
        """Keep the task's id from an event: Ctrl-C may come before the reply."""
        self.task = str(data.get("task_id") or self.task)

    def take(self, task: A2ATask) -> A2ATask:
        self.task, self.ended = task.id, task.ended
        return task

    @property
    def name(self) -> str:
        return self.peer.name

    @property
    def commands(self) -> Commands:
        return self.peer.commands(self.task)


def leave(sent: Sequence[Underway]) -> int:
    """Ask once for all tasks, if this is a terminal. Returns the exit status."""
    sent = sorted(sent, key=lambda one: one.name)
    if sent and sys.stderr.isatty():
        _say("")  # leave the line with the progress
    unknown = [one.name for one in sent if not one.task and not one.refused]
    if unknown:
        _say(f"whether {_listed(unknown)} got the message is not known")
    going = [one for one in sent if one.task and not one.ended]
    if not going:
        return INTERRUPTED
    try:
        if sys.stdin.isatty() and sys.stderr.isatty() and _wants_to_cancel(going):
            asyncio.run(_cancel(going))
    except KeyboardInterrupt:
        _say("")
    _tell([one for one in going if not one.ended])
    return INTERRUPTED


def _wants_to_cancel(going: Sequence[Underway]) -> bool:
    names = _listed([one.name for one in going])
    one = len(going) == 1
    question = "goes on with it. Cancel the task?" if one else "go on with it. Cancel the tasks?"
    say(f"{names} {question} [y/N] ", end="", error=True, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _cancel(going: Sequence[Underway]) -> None:
    """Cancel all of them at the same time; for a failure, print the command that shows the task."""

    async def cancel(one: Underway) -> None:
        try:
            state = (await one.peer.cancel(one.task)).status
            sentence = f"{one.name} has not canceled it yet: it is {state}"
        except SynapseError as error:
            state, sentence = "", str(error).rstrip(".")
        one.ended = True
        if state == "canceled":
            _say(f"canceled {one.commands.short}" + (f" of {one.name}" if len(going) > 1 else ""))
        else:
            _say(f"synapse: {sentence}; `{one.commands.shows}` shows what becomes of it.")

    await asyncio.gather(*map(cancel, going))


def _tell(going: Sequence[Underway]) -> None:
    if len(going) == 1:
        (one,) = going
        _, shows, _, cancels = one.commands
        _say(f"{one.name} goes on: `{shows}` shows the reply, `{cancels}` cancels the task")
    elif going:  # agents of this machine: a broadcast goes to no others
        names = _listed([f"{one.name} ({one.commands.short})" for one in going])
        _say(f"{names} go on: `synapse task ID` shows a reply, `synapse cancel ID` cancels a task")


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _say(text: str) -> None:
    say(text, error=True, flush=True)
