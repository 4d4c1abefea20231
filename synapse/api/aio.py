"""The calls for scripts that have an event loop: `await synapse.aio.ask("codex", "…")`.

`synapse.ask` and the others are the same for scripts without one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from synapse.api.reply import Reply
from synapse.errors import AgentAsks, NoSuchAgent, TaskFailed
from synapse.peers.fifo import is_forbidden
from synapse.peers.prompts import plain_question, question_id
from synapse.peers.remote import find_task as find_task_there
from synapse.peers.remote import in_thread, is_remote, peer_of, remote_entries
from synapse.peers.task import A2ATask

if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.peers.base import Peer
    from synapse.peers.directory import Directory
    from synapse.peers.task import A2AMessage, Json, OnEvent
    from synapse.registry import Entry

    OnQuestion = Callable[[Json], str]

Task = A2ATask | str  # a task that `send` has returned, or the id of a task on this machine


async def ask(
    agent: str,
    message: str | A2AMessage,
    *,
    priority: int = 1,
    timeout: float | None = None,
    expires: float | None = None,
    request_id: str = "",
    on_event: OnEvent | None = None,
    on_question: OnQuestion | None = None,
) -> Reply:
    """Send a message, wait for the end of its task, and return the reply.

    `agent` is a name, a type, a type with a port, the beginning of an id, or the alias of an external agent.
    Two calls with one `request_id` are one task. What the agent asks meanwhile is given to `on_question`,
    which returns the answer; without it AgentAsks is raised. Raises TaskFailed, StillWorking after `timeout`
    seconds, Refused, NoSuchAgent: each is a SynapseError that says what to do next.
    """
    peer = await find(agent)
    task = await peer.send(
        message,
        priority=priority,
        wait=True,
        timeout=timeout,
        expires=expires,
        request_id=request_id,
        on_event=on_event,
    )
    return await _reply(peer, task, timeout=timeout, on_event=on_event, on_question=on_question)


async def send(
    agent: str,
    message: str | A2AMessage,
    *,
    priority: int = 1,
    expires: float | None = None,
    request_id: str = "",
) -> A2ATask:
    """Send a message without waiting. Returns the task, which the agent has stored."""
    peer = await find(agent)
    return _known(await peer.send(message, priority=priority, expires=expires, request_id=request_id), peer)


async def follow(
    task: Task,
    *,
    timeout: float | None = None,
    on_event: OnEvent | None = None,
    on_question: OnQuestion | None = None,
) -> Reply:
    """Wait for a task that was sent before, and return its reply; the rest is as for `ask`."""
    peer, task_id = _whose(task)
    found = await peer.follow(task_id, timeout=timeout, on_event=on_event)
    return await _reply(peer, found, timeout=timeout, on_event=on_event, on_question=on_question)


async def answer(task: Task, text: str) -> None:
    """Answer what a task asks: with the key of an option, or with text. A task with a `prompt` says which
    question is answered: Refused if the agent asks something else now."""
    peer, task_id = _whose(task)
    await peer.answer(task_id, text, question_id(getattr(task, "prompt", None)))


async def cancel(task: Task) -> A2ATask:
    peer, task_id = _whose(task)
    return _known(await peer.cancel(task_id), peer)


async def get_task(task: Task) -> A2ATask:
    """The task as it is now, without waiting."""
    peer, task_id = _whose(task)
    return _known(await peer.get(task_id), peer)


async def list_agents() -> list[Entry]:
    """The running agents: `name`, `agent_type`, `status`, `endpoint`, `working_dir` …; those of other
    machines have a `machine` too, and are `stale` while it does not answer."""
    from synapse.registry import AgentRegistry

    return [*AgentRegistry().list_agents().values(), *await in_thread(remote_entries)]


def directory() -> Directory:
    """Every agent that can be reached. Messages come from the agent that this script runs in, if it does."""
    from synapse.peers.directory import open_directory
    from synapse.peers.origin import Origin

    return open_directory(Origin.of_this_process())


async def find(agent: str) -> Peer:
    """The agent of that name; one with `auto_start` is started."""
    found = directory()
    try:
        return found.find(agent.removeprefix("@"))
    except NoSuchAgent:
        if is_forbidden() or is_remote(agent.removeprefix("@")):
            raise  # nothing can be started from a sandbox, or on another machine
        from synapse.launch.starter import find_or_start

        entry = await asyncio.to_thread(find_or_start, agent.removeprefix("@"))
        return found.find(str(entry["name"]))


def _whose(task: Task) -> tuple[Peer, str]:
    if isinstance(task, str) and is_remote(task):
        entry, document = find_task_there(task)
        return peer_of(entry), str(document["id"])
    if isinstance(task, str):
        from synapse.peers.local import KIND
        from synapse.tasks.shelf import find_task

        agent_id, found = find_task(task)
        return directory().at(f"{KIND}:{agent_id}", f"agent {agent_id[:8]}"), found.id
    return directory().at(task.address, task.agent), task.id


def _known(task: A2ATask, peer: Peer) -> A2ATask:
    task.agent, task.address = peer.name, peer.address
    return task


async def _reply(
    peer: Peer,
    task: A2ATask,
    *,
    timeout: float | None,
    on_event: OnEvent | None,
    on_question: OnQuestion | None,
) -> Reply:
    while task.asks:
        _known(task, peer)
        if on_question is None:
            raise AgentAsks(_asking(peer, task), task)
        asked = dict(task.prompt or {})
        said = on_question(asked) if is_forbidden() else await asyncio.to_thread(on_question, asked)
        await peer.answer(task.id, said, question_id(task.prompt))
        task = await peer.follow(task.id, timeout=timeout, on_event=on_event)
    return finished(_known(task, peer), peer)


def finished(task: A2ATask, peer: Peer) -> Reply:
    """The reply of a task that has ended. Raises TaskFailed."""
    if task.status == "completed":
        return Reply.of(task)
    error = task.error or {}
    why = str(error.get("message") or task.note or "no reason was given").rstrip(".")
    shows = peer.commands(task.id).shows
    raise TaskFailed(
        f"{peer.name} has not done it: {task.status}, {why}. `{shows}` shows the task.",
        task,
        str(error.get("code") or ""),
    )


def _asking(peer: Peer, task: A2ATask) -> str:
    answers = peer.commands(task.id).answers
    return (
        f"{peer.name} asks: {plain_question(task.prompt)} Answer it with `{answers} …`, or use on_question."
    )
