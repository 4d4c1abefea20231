"""The run that this process executes: its journal, its steps, and the event loop that they are asked on."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from synapse.errors import UsageError
from synapse.run.budget import Budget
from synapse.run.journal import LOG, Journal
from synapse.run.scope import Scope

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine
    from concurrent.futures import Future

    from synapse.run.steps import Steps

T = TypeVar("T")

SETTLING = 2.0  # seconds

_OVER = "step {} is not asked: nobody waits for it any more"
_current: Run | None = None


@dataclass
class Run:
    """`talks`: progress is printed on standard error."""

    id: str
    journal: Journal
    created_at: float = 0.0
    script: str = ""
    args: list[str] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)
    on_question: str = "wait"
    talks: bool = False
    scope: Scope = field(default_factory=Scope)

    def __post_init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._steps: Steps | None = None
        self._calls: dict[Future[Any], str] = {}  # the calls that are waited for, with their keys
        self._abandoned: tuple[str, ...] = ()  # the beginnings of keys that nobody waits for any more
        self._mutex = threading.Lock()

    @property
    def steps(self) -> Steps:
        """Made with the first step: a script that asks nothing starts quickly."""
        with self._mutex:
            if self._steps is None:
                import asyncio

                from synapse.run.questions import Questions
                from synapse.run.steps import Steps

                loop = asyncio.new_event_loop()
                threading.Thread(target=loop.run_forever, name="steps", daemon=True).start()
                self._loop = loop
                # An id can be used again after `prune`, and the agents still know the old requests.
                self._steps = Steps(
                    f"{self.id} {self.created_at!r}",
                    self.journal,
                    self.budget,
                    questions=Questions(self.on_question),
                    tell=self.tell,
                )
            return self._steps

    def submit(self, key: str, call: Coroutine[Any, Any, T]) -> Future[T]:
        import asyncio

        assert self._loop is not None
        with self._mutex:
            if key.startswith(self._abandoned):
                call.close()
                raise CancelledError(_OVER.format(key))
            future = asyncio.run_coroutine_threadsafe(call, self._loop)
            self._calls[future] = key
        future.add_done_callback(lambda done: self._calls.pop(done, None))
        return future

    def abandon(self, prefix: str = "") -> None:
        """Stop waiting for the steps under a key, and ask no more of them: the other threads of a script go
        on after Ctrl-C. What was asked goes on; the resumed run finds it."""
        with self._mutex:
            self._abandoned += (prefix,)
            calls = list(self._calls.items())
        for future, key in calls:
            if key.startswith(prefix):
                future.cancel()

    def settle(self) -> None:
        """Wait until the steps that were abandoned have given the keyboard back."""
        import asyncio

        async def others() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            if tasks:
                await asyncio.wait(tasks, timeout=SETTLING)

        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(others(), self._loop).result()

    def check(self, key: str) -> None:
        """Raises CancelledError in a thread whose steps nobody waits for any more."""
        if key.startswith(self._abandoned):
            raise CancelledError(_OVER.format(key))

    def tell(self, key: str, sentence: str) -> None:
        if self.talks:
            import sys

            from synapse.base.text import for_output

            print(f"{key:>6}  {for_output(sentence)}", file=sys.stderr, flush=True)

    def log(self, text: str) -> None:
        self.journal.write(LOG, durable=False, text=text)
        self.tell("·", text)

    def close(self) -> None:
        self.abandon()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        self.journal.close()


def current() -> Run:
    if _current is None:
        raise UsageError("no run is being executed: start this script with `synapse run FILE.py`.")
    return _current


def enter(run: Run | None) -> None:
    global _current
    _current = run
