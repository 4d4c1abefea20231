"""A test waits for a named point of the program, or holds it there: see `synapse.base.checkpoints`."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.home import Home, wait

READERS = 16  # processes that one hold can release


class Checkpoints:
    """The points that were reached by the agents that were started in `home` with the words of `option`."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.path = Path(tempfile.mkdtemp(prefix="checkpoints-", dir=home.path))
        (self.path / "reached").touch()
        self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        home.passed.append(self.fd)

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._home.passed.remove(self.fd)
        os.close(self.fd)

    @property
    def option(self) -> list[str]:
        return ["--checkpoints", str(self.fd)]

    def all(self) -> list[dict[str, Any]]:
        """Every point that was reached, in that order."""
        return [json.loads(line) for line in (self.path / "reached").read_text().splitlines()]

    def reached(self, name: str, **detail: object) -> list[dict[str, Any]]:
        """Each time that this point was reached with these details, the oldest first."""
        wanted = {"name": name, **detail}
        return [
            point for point in self.all() if all(point.get(key) == value for key, value in wanted.items())
        ]

    def wait(self, name: str, times: int = 1, **detail: object) -> dict[str, Any]:
        """Until the point was reached so often; the last time."""
        wait(lambda: len(self.reached(name, **detail)) >= times, f"{name} {detail or ''}")
        return self.reached(name, **detail)[-1]

    def knows(self, name: str) -> bool:
        """Whether the relay sends a line that begins with `@name` to that agent."""
        return any(name in point["names"] for point in self.reached("names known")[-1:])

    @contextmanager
    def hold(self, name: str) -> Iterator[Hold]:
        """Whoever reaches this point waits there, until `release` or the end of the block."""
        held = Hold(self, name)
        try:
            yield held
        finally:
            held.release()


class Hold:
    def __init__(self, checkpoints: Checkpoints, name: str) -> None:
        self._checkpoints = checkpoints
        self._name = name
        self._path = checkpoints.path / name
        self._before = len(checkpoints.reached(name, held=True))
        os.mkfifo(self._path)
        self._fd = os.open(self._path, os.O_RDWR)

    @property
    def is_reached(self) -> bool:
        return len(self._checkpoints.reached(self._name, held=True)) > self._before

    def reached(self) -> dict[str, Any]:
        """Until a process waits there; its report."""
        return self._checkpoints.wait(self._name, self._before + 1, held=True)

    def release(self) -> None:
        if self._fd >= 0:
            self._path.unlink()
            os.write(self._fd, bytes(READERS))
            os.close(self._fd)
            self._fd = -1
