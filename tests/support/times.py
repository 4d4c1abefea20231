"""What each package of tests costs: wall time, processor time, programs started (`make test-times`).

Agents outlive the command that starts them, so a worker's own `os.times()` misses them: each worker moves
into a control group of its own, whose counter has every process that was started from it. Without root,
only what the worker itself has waited for is counted, and the table says so."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}
GROUPS = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", action="store_true", help="print what each package of tests costs")
    parser.addoption("--times-file", help="where to write what each test costs")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        if config.getoption("--times"):
            config.pluginmanager.register(Meter())
    else:
        config.pluginmanager.register(Total())
        if config.getoption("--times"):
            config.pluginmanager.register(Table())


class Usage:
    """Counts the processor time of this process and of all that it starts."""

    def __init__(self) -> None:
        self._group: Path | None = None
        self.how = "without agents in the background: that needs root"
        try:
            name = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].split("\n")[0]
            parent = next(root for root in GROUPS if (root / "cgroup.procs").exists()) / name.lstrip("/")
            group = parent / f"synapse-tests-{os.getpid()}"
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
            self._group = group
            self()
            self.how = "all processes"
        except (OSError, StopIteration):
            self.close()

    def __call__(self) -> float:
        if self._group is None:
            return sum(os.times()[:4])
        return int((self._group / "cpu.stat").read_text().split()[1]) / 1e6

    def close(self) -> None:
        """Leave the group and remove it; where a process is left in it, the kernel keeps it."""
        if self._group is not None:
            with suppress(OSError):
                (self._group.parent / "cgroup.procs").write_text(str(os.getpid()))
                self._group.rmdir()
            self._group = None


class Total:
    """Says at the end what the whole run took."""

    def __init__(self) -> None:
        self._usage = Usage()
        self._began = time.monotonic(), self._usage()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        wall, cpu = time.monotonic() - self._began[0], self._usage() - self._began[1]
        terminalreporter.write_line(
            f"{wall:.0f} s of wall time, {cpu:.0f} s of processor time ({self._usage.how})"
        )

    def pytest_unconfigure(self) -> None:
        self._usage.close()


class Meter:
    """In a worker: measures each test."""

    def __init__(self) -> None:
        self._usage = Usage()
        self._starts = 0
        sys.addaudithook(self._audit)

    def pytest_unconfigure(self) -> None:
        self._usage.close()

    def _audit(self, event: str, _: object) -> None:
        self._starts += event in STARTS

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._began = time.monotonic(), self._usage(), self._starts
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            wall, cpu, starts = self._began
            spent = (time.monotonic() - wall, self._usage() - cpu, self._starts - starts, self._usage.how)
            report.user_properties.append(("spent", spent))
        return report


class Table:
    """In the process that collects the results: adds them up and prints them."""

    def __init__(self) -> None:
        self._spent: dict[str, list[tuple[float, float, int]]] = {}
        self._each: list[tuple[float, float, str]] = []
        self._how = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, spent in report.user_properties:
            if name == "spent":
                assert isinstance(spent, list | tuple)  # a list after its way through JSON
                self._how = spent[3]
                folder = report.nodeid.split("::")[0].split("/")
                package = folder[1] if len(folder) > 2 else "(root)"
                self._spent.setdefault(package, []).append((spent[0], spent[1], spent[2]))
                self._each.append((spent[0], spent[1], report.nodeid))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        write(f"| package | tests | wall s | processor s ({self._how}) | waiting s | programs started |")
        write("|---|---|---|---|---|---|")
        for name, tests in sorted(self._spent.items(), key=lambda item: -sum(wall for wall, *_ in item[1])):
            wall, cpu = sum(test[0] for test in tests), sum(test[1] for test in tests)
            rest, starts = max(0.0, wall - cpu), sum(test[2] for test in tests)
            write(f"| {name} | {len(tests)} | {wall:.0f} | {cpu:.0f} | {rest:.0f} | {starts} |")
        each = sorted(self._each, reverse=True)
        for wall, cpu, test in each[:40]:
            write(f"{wall:7.2f} {cpu:7.2f}  {test}")
        if path := terminalreporter.config.getoption("--times-file"):
            Path(path).write_text("".join(f"{wall:.3f}\t{cpu:.3f}\t{test}\n" for wall, cpu, test in each))
