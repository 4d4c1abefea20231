"""The calls of a run for scripts that have an event loop: `await aio.ask("codex", "…")`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from synapse.run import workers
from synapse.run.scope import Scope, current
from synapse.run.session import current as current_run

if TYPE_CHECKING:
    from synapse.api.reply import Reply
    from synapse.run.schema import Schema
    from synapse.run.workers import Worker

T = TypeVar("T")
Failures = Literal["raise", "return"]


async def ask(
    agent: str,
    prompt: str,
    *,
    key: str | None = None,
    schema: Schema | None = None,
    timeout: float | None = None,
    fallback: str | None = None,
) -> Reply:
    """The twin of `synapse.run.ask`."""
    run = current_run()
    name = current(run.scope).key(key)
    step = run.steps.ask(name, agent, prompt, schema=schema, timeout=timeout, fallback=fallback)
    return await asyncio.wrap_future(run.submit(name, step))


@overload
async def gather(*calls: Coroutine[Any, Any, T]) -> list[T]: ...
@overload
async def gather(*calls: Coroutine[Any, Any, T], failures: Failures) -> list[T | BaseException]: ...
async def gather(*calls: Coroutine[Any, Any, Any], failures: Failures = "raise") -> list[Any]:
    """The twin of `synapse.run.gather`; it takes coroutines."""
    scope = current(current_run().scope)
    key = scope.key()

    async def child(number: int, call: Coroutine[Any, Any, Any]) -> Any:
        Scope.child(scope, key, number).enter()
        return await call

    children = [asyncio.ensure_future(child(n, call)) for n, call in enumerate(calls, 1)]
    try:
        return list(await asyncio.gather(*children, return_exceptions=failures == "return"))
    finally:
        for one in children:
            one.cancel()


@asynccontextmanager
async def worker(
    profile: str, *, worktree: str | bool | None = None, args: Sequence[str] = ()
) -> AsyncIterator[Worker]:
    """The twin of `synapse.run.worker`."""
    context = workers.worker(profile, worktree=worktree, args=args)
    made = await asyncio.to_thread(context.__enter__)
    error: BaseException | None = None
    try:
        yield made
    except BaseException as raised:
        error = raised
        raise
    finally:
        await asyncio.to_thread(context.__exit__, type(error) if error else None, error, None)
