"""A test that leaves something behind fails itself: a process, a listening port, a file outside its own home.

Each worker has a home and a folder for temporary files of its own, so that it is not blamed for its
neighbours. What a fixture of a whole module has made is looked at when that module has ended."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
IGNORED = {".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "__pycache__", "cache", ".cache"}
PATIENCE = 5.0  # seconds that a process which was told to end may take


def pytest_configure(config: pytest.Config) -> None:
    worker: dict[str, str] | None = getattr(config, "workerinput", None)
    if worker is not None:
        config.pluginmanager.register(Tidy(Path(worker["folder"])))
        return
    run = Run()
    config.pluginmanager.register(run)
    if not config.getoption("numprocesses", None):
        config.pluginmanager.register(Tidy(run.folder))


class Run:
    """In the process that the user has started: nothing is left, however the run ends."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="st"))  # short: sockets have 107 bytes
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["folder"] = str(self.folder)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        while left := started_from(self.folder):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def started_from(folder: Path) -> list[int]:
    """The live processes of all homes in the folder."""
    mark = f"SYNAPSE_TEST={folder}/".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environ = path.joinpath("environ").read_bytes()  # empty, for one that has ended
            if any(variable.startswith(mark) for variable in environ.split(b"\0")):
                found.append(int(path.name))
    return found


class Tidy:
    """In each process that runs tests."""

    def __init__(self, run: Path) -> None:
        # What is installed for the tests once and for all stays where it is.
        os.environ.setdefault("SYNAPSE_REAL_CACHE", str(Path.home() / ".cache" / "synapse-a2a" / "real-clis"))
        self._folder = Path(tempfile.mkdtemp(prefix="w", dir=run))
        self._saved = os.environ.get("HOME"), tempfile.tempdir
        self._home = self._folder / "home"
        (self._home / ".synapse").mkdir(
            parents=True
        )  # tests without a home of their own fill the cache in it
        os.environ["HOME"] = str(self._home)
        tempfile.tempdir = str(self._folder)
        self._before = self._things()
        self._shared: Path | None = None  # the module one of whose fixtures is in use

    def pytest_unconfigure(self) -> None:
        home, tempfile.tempdir = self._saved
        if home is not None:
            os.environ["HOME"] = home
        shutil.rmtree(self._folder, ignore_errors=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        before = self._things()
        made = yield
        if fixturedef.scope == "session":
            self._before |= self._things() - before
        else:
            self._shared = request.path
        return made

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        yield
        if self._shared is not None and nextitem is not None and nextitem.path == self._shared:
            return
        if item.get_closest_marker("shared"):  # it has left its CLI running for the next test that shares it
            return
        self._shared = None
        deadline = time.monotonic() + PATIENCE
        while (left := self._things() - self._before) and time.monotonic() < deadline:
            if not any(thing.startswith("process") for thing in left):
                break
            time.sleep(0.01)
        self._before |= left  # it is this test's fault, not the next one's
        assert not left, f"left behind: {', '.join(sorted(left))}"

    def _things(self) -> set[str]:
        return _children() | _listening() | _files(self._folder, self._home, self._home / ".synapse", ROOT)


def _files(*folders: Path) -> set[str]:
    return {
        str(path)
        for folder in folders
        for path in folder.iterdir()
        if path.name not in IGNORED and not path.name.startswith("pytest-of-")
    }


def _children() -> set[str]:
    """The processes that this one has started and not waited for."""
    found = set()
    for thread in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for pid in thread.read_text().split():
                command = (
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                # One that has ended has no command line. The tracker is Python's own, one for each process.
                if command and "multiprocessing.resource_tracker" not in command:
                    found.add(f"process {pid} ({command.strip()})")
    return found


def _listening() -> set[str]:
    """The ports on which this process listens. /proc/net/tcp would tell too, in 10 ms."""
    found = set()
    for fd in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                one = socket.socket(fileno=fd)
                try:
                    listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                    if listens and one.family != socket.AF_UNIX:
                        found.add(f"port {one.getsockname()[1]}")
                finally:
                    one.detach()  # it is not ours to close
    return found
