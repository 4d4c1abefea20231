"""The keys of steps: a number within the parent, or the name that the script gives.

The steps of a script are `1`, `2`, `3`; those of the second call of a `gather` that is the third are `3.2.1`,
`3.2.2`. A key is the same each time the script runs, so a step finds its earlier reply.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar

from synapse.errors import UsageError

_current: ContextVar[Scope | None] = ContextVar("scope", default=None)


class Scope:
    """The script, or one call of a `gather`."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._count = 0
        self._workers: dict[str, int] = {}
        self._used: set[str] = set()
        self._mutex = threading.Lock()

    def key(self, name: str | None = None) -> str:
        """The key of the next step. A named step does not change the numbers of the others."""
        if name is not None and (not name or name.isdecimal() or not name.isprintable() or "." in name):
            raise UsageError(
                f"{name!r} cannot be the key of a step: use a word that is no number, without a dot."
            )
        with self._mutex:
            if name is None:
                self._count += 1
                name = str(self._count)
            elif name in self._used:
                raise UsageError(
                    f"two steps have the key {self.prefix + name!r}: give each its own, with a number."
                )
            self._used.add(name)
        return self.prefix + name

    def worker_key(self, profile: str) -> str:
        """The number of the next worker with this profile: `1`, or `3-2-1` in a call of a `gather`."""
        with self._mutex:
            self._workers[profile] = number = self._workers.get(profile, 0) + 1
        return f"{self.prefix}{number}".replace(".", "-")

    def child(self, key: str, number: int) -> Scope:
        return Scope(f"{key}.{number}.")

    def enter(self) -> None:
        """What is asked in this thread or task from now on belongs to this scope."""
        _current.set(self)


def current(default: Scope) -> Scope:
    return _current.get() or default
