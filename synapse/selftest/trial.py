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
from pathlib import Path
from typing import Any

from synapse.agents.offline import Offline, Prepare
from synapse.base import paths, processes
from synapse.errors import SynapseError
from synapse.launch import program
from synapse.peers import control
from synapse.profiles.loader import Profile
from synapse.registry import READY, AgentRegistry, Entry
from synapse.selftest.driver import Driver
from synapse.selftest.model import ModelServer
from synapse.selftest.script import script
from synapse.terminal.screen import Screen

PREFIX = "synd-"  # of the names of temporary directories; short, as sockets have 107 bytes
PEER = "reference"  # the second agent
MARK = "SYNAPSE_DRIVE"  # in the environment of every process of a trial
ENOUGH = 100_000_000  # bytes of the temporary directory
LOOK_EVERY = 0.05  # seconds
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


class Trial:
    """What a human, and programs that send tasks, see of the CLI."""

    def __init__(
        self, profile: Profile, offline: Offline, model: ModelServer, folder: Path, env: Mapping[str, str]
    ) -> None:
        self.profile, self.offline, self.model, self.env = profile, offline, model, env
        self.work = folder / "work"
        self.began = time.monotonic()
        self.deadline = self.began + offline.seconds
        self.ended = False  # the CLI writes no more
        self.driver = Driver(self._synapse(profile.name, *_arguments(profile, offline, env)), env, self.work)
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
        if time.monotonic() > self.deadline:
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
def trial(profile: Profile, prepare: Prepare) -> Iterator[Trial]:
    """At its end every process is stopped and every file removed, also after Ctrl-C."""
    with _temporary_folder() as folder, ModelServer(script) as model, ExitStack() as stack:
        env = _environment(folder)
        try:
            offline = prepare(folder / "home", folder / "work", model.url)
        except OSError as error:
            raise _no_home(error) from error
        env |= offline.env
        stack.callback(_end_all, folder)
        made = Trial(profile, offline, model, folder, env)
        stack.callback(made.close)
        try:
            yield made
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is being removed is removed


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    place = tempfile.gettempdir()
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        if shutil.disk_usage(place).free < ENOUGH:
            raise OSError(errno.ENOSPC, "less than 100 MB are free", place)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        for name in ("home", "work", "tmp", "run", "synapse", "a2a"):
            (folder / name).mkdir(mode=0o700)
        _copy_profiles(folder / "synapse" / "profiles")
    except OSError as error:
        raise _no_home(error) from error
    try:
        yield folder
    finally:
        for _ in range(20):  # a process that was just killed may have written once more
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.05)
        signal.signal(signal.SIGINT, interrupt)


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


def _arguments(profile: Profile, offline: Offline, env: Mapping[str, str]) -> list[str]:
    """An argument that this version refuses would look as if the CLI did not start."""
    told = _output([*program.find_command(profile), "--help"], env) if offline.newer_args else ""
    return [*offline.args, *(word for word in offline.newer_args if word in told)]


def version_of(profile: Profile) -> str:
    """What `--version` prints, in a home of its own; empty if that tells nothing."""
    try:
        with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as home:
            env = _environment(Path(home)) | {"HOME": home}
            lines = _output([*program.find_command(profile), "--version"], env).splitlines()
    except OSError:  # no such directory can be made, which the trial says
        return ""
    return next((line.strip() for line in lines if re.search(r"\d\.\d", line)), "")


def _output(command: list[str], env: Mapping[str, str]) -> str:
    """What a command prints; empty if it fails."""
    try:
        done = subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _end_all(folder: Path) -> None:
    """Kill what is left of a trial: a CLI may have left its session (Linux only)."""
    mark = f"{MARK}={folder}".encode()
    for _ in range(50):
        left = [pid for pid in _pids() if mark in _environ(pid)]
        if not left:
            return
        processes.signal_all(left, signal.SIGKILL)
        time.sleep(0.02)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _environ(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
