"""The calls of a run for scripts without an event loop; `synapse/run/__init__.py` lists them."""

from __future__ import annotations

import contextvars
import json
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from synapse.errors import UsageError
from synapse.run.journal import KEPT
from synapse.run.scope import Scope, current
from synapse.run.session import current as current_run

if TYPE_CHECKING:
    from synapse.api.reply import Reply
    from synapse.run.schema import Schema

T = TypeVar("T")


def ask(
    agent: str,
    prompt: str,
    *,
    key: str | None = None,
    schema: Schema | None = None,
    timeout: float | None = None,
    fallback: str | None = None,
) -> Reply:
    """Ask an agent and wait for its reply. The step is asked once, however often the run is resumed.

    `key` names the step; without it, its number within its parent does. With `schema` (a pydantic model or a
    JSON schema) the reply's `.data` is validated; one that does not fit is asked for once more. `fallback` is
    an agent that gets the same prompt if this one is not there, at its usage limit or fails. Raises
    StepFailed, which names the step.
    """
    run = current_run()
    name = current(run.scope).key(key)
    step = run.steps.ask(name, agent, prompt, schema=schema, timeout=timeout, fallback=fallback)
    return run.submit(name, step).result()


@overload
def gather(*calls: Callable[[], T]) -> list[T]: ...
@overload
def gather(*calls: Callable[[], T], failures: Literal["return"]) -> list[T | BaseException]: ...
def gather(*calls: Callable[[], Any], failures: Literal["raise", "return"] = "raise") -> list[Any]:
    """Call functions at the same time and return their results in the order of the calls.

    `gather(lambda: ask("claude", q), lambda: ask("codex", q))`. With the first failure it is raised; what the
    others have asked goes on, and is found again when the run is resumed. With `failures="return"` all are
    waited for, and an error stands in the place of its result.
    """
    run = current_run()
    scope = current(run.scope)
    key = scope.key()
    for call in calls:
        if not callable(call):
            raise UsageError("gather() takes functions: write gather(lambda: ask(…), lambda: ask(…)).")
    results: list[Future[Any]] = [Future() for _ in calls]

    def child(number: int, call: Callable[[], Any], result: Future[Any]) -> None:
        Scope.child(scope, key, number).enter()
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    for number, (call, result) in enumerate(zip(calls, results, strict=True), 1):
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(child, number, call, result), name=f"step {key}.{number}", daemon=True
        ).start()
    if failures == "return":
        wait(results)
        return [done.exception() or done.result() for done in results]
    ended, _ = wait(results, return_when=FIRST_EXCEPTION)
    failed = [done for done in results if done in ended and done.exception() is not None]
    if failed:
        run.abandon(f"{key}.")
    return [done.result() for done in failed or results]


def once(call: Callable[[], T], *, key: str | None = None) -> T:
    """Call a function once for the whole run and return its result, also when the run is resumed.

    For what may differ the next time and goes into a prompt: a diff, the time, a random choice. The result
    must be plain data, as JSON has it.
    """
    run = current_run()
    name = current(run.scope).key(key)
    kept = run.journal.record.kept
    if name not in kept:
        value = call()
        if json.loads(json.dumps(value)) != value:
            raise UsageError(f"step {name}: once() keeps plain data only, not {type(value).__name__}.")
        run.journal.write(KEPT, key=name, value=value)
    result: T = kept[name]
    return result


def log(text: object) -> None:
    """Keep a line in the run's journal; `synapse runs show` prints it."""
    current_run().log(str(text))
