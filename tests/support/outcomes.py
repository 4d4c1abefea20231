"""What the end of a run says besides the counts: what was skipped and why, in three lines. With
`--failures FILE` each failed test and its first failure is a line of JSON, for scripts/ci_tests.py."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

MISSING = re.compile(r"there is no (\S+)|(\S+) is not installed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures", help="a file to which each failed test is added")
    parser.addoption("--random-order", metavar="SEED", help="shuffle the tests, the modules as a whole")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(config.getoption("--failures")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the modules, and the tests within each: those that share a fixture stay beside each other."""
    if seed := config.getoption("--random-order"):
        chance = random.Random(seed)
        modules: dict[Path, list[pytest.Item]] = {}
        for item in items:
            modules.setdefault(item.path, []).append(item)
        groups = list(modules.values())
        chance.shuffle(groups)
        for group in groups:
            chance.shuffle(group)
        items[:] = [item for group in groups for item in group]


class Outcomes:
    def __init__(self, path: str | None) -> None:
        self._path = path and Path(path)
        self._missing: Counter[str] = Counter()
        self._other: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if match := MISSING.search(reason):
                self._missing[match[1] or match[2]] += 1
            else:
                self._other[reason] += 1
        if report.failed and self._path:
            line = {"test": report.nodeid, "when": report.when, "error": report.longreprtext}
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self._path:
            with self._path.open("a") as file:
                file.write(json.dumps({"test": report.nodeid, "error": report.longreprtext}) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._missing:
            names = ", ".join(f"{name} ({count})" for name, count in self._missing.most_common())
            terminalreporter.write_line(f"Skipped, because these programs are not installed: {names}.")
            terminalreporter.write_line(
                "`make shells` installs zsh and fish; the others are in packages of their names."
            )
        if self._other:
            reasons = "; ".join(f"{reason} ({count})" for reason, count in self._other.most_common())
            terminalreporter.write_line(f"Skipped for other reasons: {reasons}.")
