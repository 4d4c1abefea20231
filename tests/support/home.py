"""A home directory of its own for a test, and the commands that run in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from synapse.base import paths, processes
from synapse.registry import AgentRegistry, Entry
from synapse.testing import Terminal
from tests.support.patience import PATIENCE


def wait(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait until `condition` holds, with a deadline."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience} s in vain for: {what}"
        time.sleep(0.01)


SYNAPSE = [sys.executable, "-P", "-m", "synapse"]


class Home:
    """An empty home directory with a working directory in it, and `synapse` commands that use them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prefix: list[str] = []  # of every command: `ip netns exec …`
        self.passed: list[int] = []  # descriptors that every command inherits
        self.work = path / "work"
        self.work.mkdir()
        self.env = {
            "HOME": str(path),
            "SYNAPSE_HOME": str(path / "synapse"),
            "A2A_HOME": str(path / "a2a"),
            "PATH": os.path.dirname(sys.executable) + ":/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SYNAPSE_TEST": str(path),
            "SYNAPSE_INITIAL_INSTRUCTIONS": "off",  # else the first message is longer than what was sent
        }

    @contextmanager
    def ours(self) -> Iterator[None]:
        """Use it as the home of this process too."""
        with pytest.MonkeyPatch.context() as patch:
            for key in ("SYNAPSE_HOME", "A2A_HOME"):
                patch.setenv(key, self.env[key])
            yield

    def command(self, *words: str) -> list[str]:
        return [*self.prefix, *SYNAPSE, *words]

    def run(
        self, *words: str, check: bool = True, input: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """`synapse …`, without a terminal."""
        done = subprocess.run(
            self.command(*words),
            env={**self.env, **more},
            cwd=self.work,
            input=input,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            pass_fds=self.passed,
        )
        if check:
            assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def terminal(self, *words: str, cols: int = 80, rows: int = 24, **more: str) -> Terminal:
        """`synapse …` in a terminal."""
        return self.program([*SYNAPSE, *words], cols, rows, **more)

    def program(self, argv: list[str], cols: int = 80, rows: int = 24, **more: str) -> Terminal:
        argv = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(self.work), *argv]
        with self.passing():
            return Terminal(argv, {**self.env, **more}, cols, rows)

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Programs that are started meanwhile inherit the descriptors of `passed`."""
        for fd in self.passed:
            os.set_inheritable(fd, True)
        yield
        for fd in self.passed:
            os.set_inheritable(fd, False)

    @property
    def registry(self) -> AgentRegistry:
        return AgentRegistry(self.path / "a2a" / "registry")

    def agents(self) -> dict[str, Entry]:
        """The live agents by name."""
        return {str(entry["name"]): entry for entry in self.registry.list_agents().values()}

    def inside(self, name: str) -> dict[str, Any]:
        """The variables of a command that the agent runs: known by the id that a CLI gives its tools."""
        agent_id = str(self.agents()[name]["agent_id"])
        told = {"variable": "TEST_SESSION", "session": f"session of {name}"}
        (self.path / "synapse" / "agents" / agent_id / "session.json").write_text(json.dumps(told))
        return {told["variable"]: told["session"]}

    def profile(self, name: str, text: str) -> None:
        folder = self.path / "synapse" / "profiles"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)

    def log(self, name: str) -> str:
        path = self.path / "synapse" / "logs" / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def processes(self) -> list[int]:
        """Every live process that was started from this home."""
        mark = f"SYNAPSE_TEST={self.path}".encode()
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and processes.start_time(int(name)):
                try:
                    environ = Path(f"/proc/{name}/environ").read_bytes()
                    zombie = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
                except OSError:
                    continue
                if not zombie and mark in environ.split(b"\0"):
                    found.append(int(name))
        return found

    def wait_no_process(self, patience: float = PATIENCE) -> None:
        wait(lambda: not self.processes(), "end of every process", patience)


def _describe(pid: int) -> str:
    folder = Path(f"/proc/{pid}")
    stat = (folder / "stat").read_text().rpartition(")")[2].split()
    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return f"{command}(state {stat[0]}, {stat[11]} ticks of CPU, {(folder / 'wchan').read_text()})"


@contextmanager
def new_home() -> Iterator[Home]:
    """A home; at its end no process that was started from it may be left."""
    made = Home(Path(tempfile.mkdtemp(prefix="h")))  # short: sockets have 107 bytes
    left: list[int] = []
    try:
        yield made
        for entry in made.agents().values():
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(int(str(entry["pid"])), signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while (left := made.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not left, f"left running: {[_describe(pid) for pid in left]}"
    finally:
        for pid in left or made.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with made.ours():
            shutil.rmtree(
                paths.runtime_dir(), ignore_errors=True
            )  # of agents killed with no chance to clear it
        shutil.rmtree(made.path, ignore_errors=True)


def hosts(home: Home, name: str = "") -> list[int]:
    """The process ids of the hosts, of all agents or of one."""
    relay = str(home.agents()[name]["pid"]) if name else ""
    found = []
    for pid in home.processes():
        try:
            mine = b"synapse.host" in Path(f"/proc/{pid}/cmdline").read_bytes()
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if mine and relay in ("", parent):
            found.append(pid)
    return found
