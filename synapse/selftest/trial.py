"""One CLI inside Synapse, in a temporary home, with the scripted model behind it and a second agent.

with trial(profile, prepare) as made:
    made.until(lambda: made.status == READY, 30)
    task = made.send("hello")
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synapse.agents.offline import Offline, Prepare
from synapse.base import paths
from synapse.errors import SynapseError
from synapse.launch import program
from synapse.peers import control
from synapse.profiles.loader import Profile
from synapse.registry import READY, AgentRegistry, Entry
from synapse.selftest.driver import Driver
from synapse.selftest.homes import MARK, end_all, remove_abandoned, temporary_home
from synapse.selftest.model import ModelServer
from synapse.selftest.script import script
from synapse.terminal.screen import Screen

PEER = "reference"  # the second agent
ENOUGH = 100_000_000  # bytes of the temporary directory
LOOK_EVERY = 0.05  # seconds
TOLD = 8.0  # seconds for `--version` or `--help`: what a slow CLI needs on a busy machine
# How a CLI looks may depend on them: some are translated, some draw more in a terminal with all colours, some
# switch on what the named terminal can do.
LOOK = (
    "COLORFGBG",
    "COLORTERM",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "NO_COLOR",
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
)
NO_TERMINAL = ("dumb", "unknown")  # what TERM says where doctor itself runs without one
SETTLED = 0.2  # seconds of silence
ENDED = ("completed", "failed", "canceled")


class TimeUp(Exception):
    """The checks have taken as long as they may."""


@dataclass(frozen=True)
class Limit:
    """How long all checks of a CLI may take, with what it is asked before it is started."""

    seconds: float
    began: float  # of the monotonic clock

    @property
    def deadline(self) -> float:
        return self.began + self.seconds

    @property
    def told(self) -> float:
        """Seconds for `--version` or `--help`: most of the time is for the checks."""
        return min(TOLD, self.seconds / 4)


class Trial:
    """What a human, and programs that send tasks, see of the CLI."""

    def __init__(
        self,
        profile: Profile,
        offline: Offline,
        model: ModelServer,
        folder: Path,
        env: Mapping[str, str],
        limit: Limit,
    ) -> None:
        self.profile, self.offline, self.model, self.env = profile, offline, model, env
        self.work = folder / "work"
        self.limit = limit
        self.ended = False  # the CLI writes no more
        arguments = _arguments(profile, offline, env, limit)
        self.began = time.monotonic()
        self.driver = Driver(self._synapse(profile.name, *arguments), env, self.work)
        self.peer: Driver | None = None
        self._registry = AgentRegistry(folder / "a2a" / "registry")

    def start_peer(self) -> None:
        self.peer = Driver(self._synapse("dummy", "--name", PEER), self.env, self.work)

    def close(self) -> None:
        with suppress(AssertionError):  # it did not end: `_end_all` kills it
            self.driver.__exit__(None, None, None)
        if self.peer is not None:
            with suppress(AssertionError):
                self.peer.__exit__(None, None, None)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def screen(self) -> str:
        return self.driver.screen.text()

    def agent(self, name: str) -> Entry | None:
        found = self._registry.list_agents().values()
        return next((entry for entry in found if entry["name"] == name), None)

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """A request to the host of the CLI. SynapseError if there is none, or if it refuses."""
        entry = self.agent(self.profile.name)
        if entry is None:
            raise SynapseError(f"{self.profile.name} is not running: it has ended, or never started.")
        return control.call(entry, method, path, body)

    @property
    def why(self) -> dict[str, Any]:
        return self.call("GET", "/why")

    @property
    def status(self) -> str:
        """Empty until its host answers."""
        try:
            return str(self.why["status"])
        except (SynapseError, OSError):
            return ""

    @property
    def composer(self) -> dict[str, Any]:
        return dict(self.why["composer"])

    def look(self, seconds: float = LOOK_EVERY) -> None:
        """See what comes within this time. Raises TimeUp."""
        if time.monotonic() > self.limit.deadline:
            raise TimeUp
        if self.peer is not None:
            self.peer.pump(0)
        self.driver.pump(seconds)
        if self.driver.pty.exited():
            self.ended = True
            self.driver.pump(seconds)

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.look(min(left, LOOK_EVERY))

    def until(self, condition: Callable[[], object], seconds: float) -> bool:
        """Look on until the condition holds: False if it does not within this time, or the CLI has ended."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self.ended or time.monotonic() > deadline:
                return False
            self.look()
        return True

    def settled_screen(self) -> Screen:
        """A copy of its screen, once it has drawn what the host knows already."""
        self.until(lambda: time.monotonic() - self.driver.heard > SETTLED, 2.0)
        return self.driver.copy_of_screen()

    def send(self, text: str) -> str:
        task = self.call("POST", "/tasks/send", {"message": text})["task"]
        return str(task["id"])

    def task(self, task_id: str) -> dict[str, Any]:
        found = self.call("GET", f"/tasks/{task_id}")
        return dict(found.get("task", found))

    def until_task(self, task_id: str, *states: str, seconds: float) -> dict[str, Any]:
        """The task in one of these states, or as it is after that time."""
        self.until(lambda: self.task(task_id)["state"] in (states or ENDED), seconds)
        return self.task(task_id)

    def got(self, task_id: str) -> str | None:
        """What the model was asked for this task, without its mark; None if it was not. Others may have asked
        since: some CLIs have the model guess what the human types next."""
        mark = f"[A2A:{task_id[:8]}:"
        found = next((prompt for prompt in self.model.prompts if prompt.startswith(mark)), None)
        return None if found is None else found.partition("] ")[2].strip()

    @contextmanager
    def cancelling(self, task_id: str) -> Iterator[None]:
        """Cancel a task; the answer may take longer than what is looked at meanwhile."""
        entry = self.agent(self.profile.name)

        def cancel() -> None:
            if entry is not None:
                with suppress(OSError, ValueError):
                    control.exchange(entry, "POST", f"/tasks/{task_id}/cancel", {}, timeout=20)

        thread = threading.Thread(target=cancel, daemon=True)
        thread.start()
        yield
        thread.join(20)

    def recovered(self) -> bool:
        """Whether it is at an empty prompt again, for the next check; helps a little."""
        self.driver.mark("recover")
        for attempt in range(3):
            if self.until(lambda: self.status == READY, 2.0 if attempt else 4.0):
                break
            with suppress(SynapseError):
                self.call("POST", "/terminal/interrupt", {})
        return self.status == READY

    def exit_status(self) -> int:
        return self.driver.wait_exit(5.0)

    def _synapse(self, *words: str) -> list[str]:
        return [*paths.our_python(), "-m", "synapse", *words]


@contextmanager
def trial(profile: Profile, prepare: Prepare, began: float, seconds: float | None = None) -> Iterator[Trial]:
    """At its end every process is stopped and every file removed, also after Ctrl-C. `seconds` is how long it
    may take since `began`, if not what the CLI's folder says."""
    with _folders() as folder, ModelServer(script) as model, ExitStack() as stack:
        env = _environment(folder)
        try:
            offline = prepare(folder / "home", folder / "work", model.url)
        except OSError as error:
            raise _no_home(error) from error
        env |= offline.env
        stack.callback(end_all, folder)
        made = Trial(profile, offline, model, folder, env, Limit(seconds or offline.seconds, began))
        stack.callback(made.close)
        try:
            yield made
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is being removed is removed


@contextmanager
def _folders() -> Iterator[Path]:
    place = tempfile.gettempdir()
    interrupt = signal.getsignal(signal.SIGINT)
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGINT, interrupt)
        try:
            remove_abandoned()
            if shutil.disk_usage(place).free < ENOUGH:
                raise OSError(errno.ENOSPC, "less than 100 MB are free", place)
            folder = stack.enter_context(temporary_home())
            for name in ("home", "work", "tmp", "run", "synapse", "a2a"):
                (folder / name).mkdir(mode=0o700)
            _copy_profiles(folder / "synapse" / "profiles")
        except OSError as error:
            raise _no_home(error) from error
        yield folder


def _no_home(error: OSError) -> SynapseError:
    return SynapseError(
        f"cannot prepare a temporary home in {tempfile.gettempdir()} ({error.strerror}): make space there, "
        "or set TMPDIR to another directory."
    )


def _copy_profiles(target: Path) -> None:
    """The user's own profiles: they are what is checked."""
    source = paths.user_profiles_dir()
    if os.path.isdir(source):
        shutil.copytree(source, target)


def _environment(folder: Path) -> dict[str, str]:
    """From nothing: no proxy, no key and no setting of the user. Programs are found as the user's are."""
    env = {
        "HOME": str(folder / "home"),
        "PATH": os.environ.get("PATH", os.defpath),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder / "tmp"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "SYNAPSE_HOME": str(folder / "synapse"),
        "A2A_HOME": str(folder / "a2a"),
        "SYNAPSE_INITIAL_INSTRUCTIONS": "off",  # else the first message is longer than what was sent
        MARK: str(folder),
    }
    look = {name: os.environ[name] for name in LOOK if os.environ.get(name)}
    env |= {name: value for name, value in look.items() if name != "TERM" or value not in NO_TERMINAL}
    if "-E" not in paths.our_python():  # Synapse itself comes from there
        env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return env


def _arguments(profile: Profile, offline: Offline, env: Mapping[str, str], limit: Limit) -> list[str]:
    """An argument that this version refuses would look as if the CLI did not start."""
    command = [*program.find_command(profile), "--help"]
    told = _output(command, env, limit.told) if offline.newer_args else ""
    return [*offline.args, *(word for word in offline.newer_args if word in told)]


def version_of(profile: Profile, seconds: float | None = None) -> str:
    """What `--version` prints, in a home of its own; empty if that tells nothing. `seconds` is how long the
    checks may take."""
    told = TOLD if seconds is None else Limit(seconds, 0.0).told
    try:
        with temporary_home() as home:
            env = _environment(home) | {"HOME": str(home)}
            lines = _output([*program.find_command(profile), "--version"], env, told).splitlines()
    except OSError:  # no such directory can be made, which the trial says
        return ""
    return next((line.strip() for line in lines if re.search(r"\d\.\d", line)), "")


def _output(command: list[str], env: Mapping[str, str], seconds: float) -> str:
    """What a command prints; empty if it fails, or takes longer: then it is killed, with its children."""
    try:
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return ""
    with process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except BaseException as error:  # Ctrl-C, or a signal that ends doctor
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return ""
            raise
    return out.decode("utf-8", "replace") if process.returncode == 0 else ""
