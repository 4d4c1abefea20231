"""What each package of tests costs: wall time, processor time, programs started. `make test-times` prints the table.

Agents outlive the command that starts them, so a worker's own `os.times()` misses them: each worker moves into a
control group of its own, whose counter has every process that was started from it. Without root, only what the worker
itself has waited for is counted, and the table says so."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}
GROUPS = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", action="store_true", help="print what each package of tests costs")
    parser.addoption("--times-file", help="where to write what each test costs")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--times"):
        config.pluginmanager.register(Meter() if hasattr(config, "workerinput") else Table())


def counter() -> tuple[Callable[[], float], str]:
    """A clock of the processor time of this process and of all that it starts, and how it is measured."""
    for root in GROUPS:
        group = root / f"synapse-tests-{os.getpid()}"
        try:
            if not (root / "cgroup.procs").exists():
                continue
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
            path = group / "cpu.stat"
            path.read_text()
        except OSError:
            continue
        return lambda: int(path.read_text().split()[1]) / 1e6, "all processes"
    return lambda: sum(os.times()[:4]), "without agents in the background: that needs root"


class Meter:
    """In a worker: measures each test."""

    def __init__(self) -> None:
        self._clock, self._how = counter()
        self._starts = 0
        sys.addaudithook(self._audit)

    def _audit(self, event: str, _: object) -> None:
        self._starts += event in STARTS

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._began = time.monotonic(), self._clock(), self._starts
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            wall, cpu, starts = self._began
            spent = (time.monotonic() - wall, self._clock() - cpu, self._starts - starts, self._how)
            report.user_properties.append(("spent", spent))
        return report


class Table:
    """In the process that collects the results: adds them up and prints them."""

    def __init__(self) -> None:
        self._wall: Counter[str] = Counter()
        self._cpu: Counter[str] = Counter()
        self._starts: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()
        self._each: list[tuple[float, float, str]] = []
        self._how = ""
        self._began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, spent in report.user_properties:
            if name == "spent":
                wall, cpu, starts, self._how = spent
                folder = report.nodeid.split("::")[0].split("/")
                package = folder[1] if len(folder) > 2 else "(root)"
                self._wall[package] += wall
                self._cpu[package] += cpu
                self._starts[package] += starts
                self._tests[package] += 1
                self._each.append((wall, cpu, report.nodeid))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        write(f"| package | tests | wall s | processor s ({self._how}) | waiting s | programs started |")
        write("|---|---|---|---|---|---|")
        for package, wall in self._wall.most_common():
            cpu = self._cpu[package]
            rest = max(0.0, wall - cpu)
            counts = f"{self._tests[package]} | {wall:.0f} | {cpu:.0f} | {rest:.0f} | {self._starts[package]}"
            write(f"| {package} | {counts} |")
        spent, took = self._cpu.total(), time.monotonic() - self._began
        write(f"all: {took:.0f} s of wall time, {spent:.0f} s of processor time in tests")
        for wall, cpu, test in sorted(self._each, reverse=True)[:40]:
            write(f"{wall:7.2f} {cpu:7.2f}  {test}")
        path = terminalreporter.config.getoption("--times-file")
        if path:
            lines = (f"{wall:.3f}\t{cpu:.3f}\t{test}\n" for wall, cpu, test in sorted(self._each, reverse=True))
            Path(path).write_text("".join(lines))
