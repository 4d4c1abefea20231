"""`--fast` (`make test-fast`): only tests that start no process and open no terminal; one that does fails."""

from __future__ import annotations

import sys

import pytest

from tests.support.times import STARTS

# A test that uses one of these, or whose module imports one of them, is not run.
FIXTURES = {"home", "agent", "world", "reviewer"}
MODULES = {
    "subprocess", "multiprocessing", "Terminal", "Pty", "SYNAPSE", "Home", "start", "HostLink", "run_agent",
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only tests without processes and terminals")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "processes: starts a process, which nothing else tells")
    if config.getoption("--fast"):
        config.pluginmanager.register(Fast())


class Fast:
    def __init__(self) -> None:
        self._test = ""
        sys.addaudithook(self._audit)

    def _audit(self, event: str, _: object) -> None:
        if self._test and event in STARTS:
            raise AssertionError(
                f"{self._test} starts a process: it is none of the fast tests (support/fast.py)"
            )

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept: list[pytest.Item] = []
        left: list[pytest.Item] = []
        for item in items:
            module = vars(getattr(item, "module", sys))
            uses = FIXTURES.intersection(getattr(item, "fixturenames", ())) or MODULES.intersection(module)
            (left if uses or item.get_closest_marker("processes") else kept).append(item)
        items[:] = kept
        config.hook.pytest_deselected(items=left)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._test = item.nodeid

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        self._test = ""
