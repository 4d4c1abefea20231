"""The peers, and the temporary homes that they run in; what was started there is ended."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from benchmarks import proc
from benchmarks.table import BARE, CURL, SCRIPT, SYNAPSE, TMUX
from benchmarks.terminal import PATIENCE, Terminal
from synapse.registry import AgentRegistry, Entry

PYTHON = str(Path(sys.executable).parent / "python")
COMMAND = str(Path(sys.executable).parent / "synapse")
_TMUX = ["-L", "bench", "-f", "/dev/null"]  # a server of its own, without the user's settings
_START = 20.0  # seconds until a peer must show its program's first line


class Peers:
    """Those that a benchmark compares. One that is missing or fails is left out, with a note under the table.

    Without the bare program and Synapse there is no comparison: when they fail, the benchmark fails."""

    def __init__(self, *names: str) -> None:
        self._names: list[str] = []
        self.notes: list[str] = []
        for name in names:
            if name in (SCRIPT, TMUX, CURL) and shutil.which(name) is None:
                self._leave_out(name, "it is not installed")
            else:
                self._names.append(name)

    def __iter__(self) -> Iterator[str]:
        """Those that have not been left out, also not since the iteration began."""
        return (name for name in list(self._names) if name in self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Something that `name` does; if it fails, `name` is left out."""
        try:
            yield
        except Exception as error:  # the figures of the others are kept
            if name in (BARE, SYNAPSE) or name not in self._names:
                raise
            self._names.remove(name)
            expected = isinstance(error, (OSError, RuntimeError, subprocess.SubprocessError))
            self._leave_out(name, str(error) if expected else repr(error))

    def open(self, place: Place, command: str, first_line: str) -> dict[str, Terminal]:
        """`command` in a terminal for each peer, when it has written its first line."""
        terminals = {}
        for name in self:
            with self.attempt(name):
                terminals[name] = place.open(name, command)
        for name in self:
            with self.attempt(name):
                terminals[name].wait_for(first_line, _START if name in (SCRIPT, TMUX) else PATIENCE)
        return {name: terminals[name] for name in self}

    def _leave_out(self, name: str, why: str) -> None:
        self.notes.append(f"{name} is left out: {' '.join(why.split())[:300]}")


class Place:
    """A home directory, and everything that is started in it; all of it is gone at the end."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="synb-")  # short: sockets have 107 bytes
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SYNAPSE", "TMUX", "A2A"))}
        self.env = {
            **kept,
            "HOME": self.path,
            "SYNAPSE_HOME": f"{self.path}/synapse",
            "A2A_HOME": f"{self.path}/a2a",
            "TMUX_TMPDIR": self.path,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "SYNAPSE_BENCH": self.path,
        }
        self._terminals: list[Terminal] = []

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if Path(self.path, f"tmux-{os.getuid()}").exists():
            with suppress(OSError, subprocess.SubprocessError):
                self.run(_program("tmux"), *_TMUX, "kill-server", check=False)
        if self.agents():
            self.run(COMMAND, "stop", "--all", check=False)
        for terminal in self._terminals:
            terminal.close()
        self.wait_no_process()
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name: str, text: str) -> str:
        path = Path(self.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def open(self, peer: str, command: str) -> Terminal:
        """`command`, words without quotes, in a terminal, through `peer`."""
        terminal = Terminal(self._wrapped(peer, command), self.env, self.path, redraws=peer == TMUX)
        self._terminals.append(terminal)
        return terminal

    def close(self, terminal: Terminal) -> None:
        self._terminals.remove(terminal)
        terminal.close()

    def _wrapped(self, peer: str, command: str) -> list[str]:
        if peer == SYNAPSE:
            self.profile(command)
            return [COMMAND, "agent"]
        if peer == SCRIPT:
            return [_program("script"), "-q", "-c", f"exec {command}", "/dev/null"]
        if peer == TMUX:
            without_status = [";", "set", "status", "off"]
            return [_program("tmux"), *_TMUX, "new-session", f"exec {command}", *without_status]
        assert peer == BARE
        return shlex.split(command)

    def profile(self, command: str) -> None:
        """Write a profile `agent` with an old date: Synapse does not cache a file that has just changed."""
        text = f"command: {command}\n"
        path = Path(self.path, "synapse/profiles/agent.yaml")
        if not path.exists() or path.read_text() != text:
            os.utime(self.file("synapse/profiles/agent.yaml", text), (0, 0))

    def run(self, *argv: str, check: bool = True) -> float:
        """Run a command to its end, without a terminal; the seconds it took."""
        started = time.perf_counter()
        subprocess.run(
            argv,
            env=self.env,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=check,
            timeout=PATIENCE,
        )
        return time.perf_counter() - started

    def agents(self) -> list[Entry]:
        folder = Path(self.path, "a2a", "registry")
        return list(AgentRegistry(folder).list_agents().values()) if folder.exists() else []

    def ready_agent(self) -> Entry:
        """The agent, once its host runs and it is idle."""
        wait(lambda: any(entry["status"] == "READY" for entry in self.agents()), "an agent that is ready")
        return self.agents()[0]

    def log(self) -> str:
        return "".join(path.read_text() for path in Path(self.path, "synapse", "logs").glob("*.log"))

    def wait_no_process(self) -> None:
        """Wait: a host may end shortly after its relay."""
        deadline = time.monotonic() + 8
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.01)

    def processes(self) -> list[int]:
        return proc.marked(f"SYNAPSE_BENCH={self.path}")


def _program(name: str) -> str:
    return shutil.which(name) or name


def wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {PATIENCE:g} s in vain for: {what}")
        time.sleep(0.02)
