"""The calls for scripts without an event loop: `synapse.ask("codex", "…")`. `synapse.aio` has their twins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from synapse.api import aio
from synapse.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    from synapse.api.aio import OnQuestion, Task
    from synapse.api.reply import Reply
    from synapse.peers.task import A2AMessage, A2ATask, OnEvent
    from synapse.registry import Entry

    T = TypeVar("T")


def ask(
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
    """Send a message, wait for the reply, and return it. `synapse.aio.ask` describes the arguments."""
    return _run(
        aio.ask(
            agent,
            message,
            priority=priority,
            timeout=timeout,
            expires=expires,
            request_id=request_id,
            on_event=on_event,
            on_question=on_question,
        )
    )


def send(
    agent: str,
    message: str | A2AMessage,
    *,
    priority: int = 1,
    expires: float | None = None,
    request_id: str = "",
) -> A2ATask:
    """Send a message without waiting. Returns the task, which the agent has stored."""
    return _run(aio.send(agent, message, priority=priority, expires=expires, request_id=request_id))


def follow(
    task: Task,
    *,
    timeout: float | None = None,
    on_event: OnEvent | None = None,
    on_question: OnQuestion | None = None,
) -> Reply:
    """Wait for a task that was sent before, and return its reply."""
    return _run(aio.follow(task, timeout=timeout, on_event=on_event, on_question=on_question))


def answer(task: Task, text: str) -> None:
    """Answer what a task asks: with the key of an option, or with text."""
    _run(aio.answer(task, text))


def cancel(task: Task) -> A2ATask:
    return _run(aio.cancel(task))


def get_task(task: Task) -> A2ATask:
    """The task as it is now, without waiting."""
    return _run(aio.get_task(task))


def list_agents() -> list[Entry]:
    """The running agents of this machine."""
    return _run(aio.list_agents())


def _run(call: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    call.close()
    raise UsageError("this code runs in an event loop: use `await synapse.aio.ask(…)` and its neighbours.")
