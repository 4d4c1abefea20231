"""What every test has: a home of its own, and an environment that nobody else has set."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import hypothesis
import pytest

pytest.register_assert_rewrite("tests.support", "tests.real", "tests.web")
pytest_plugins = ("tests.support.times", "tests.support.fast", "tests.support.outcomes", "tests.support.tidy")

from tests.support.home import Home, new_home  # noqa: E402

# Time is measured in benchmarks/, not by a test that shares its cores with others. The examples are the same
# in each run: what fails has failed before. `make test-order` looks for new ones.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.load_profile("same")

# The caller's environment must not change what the tests find: a proxy, a runtime directory, an agent's name.
_OURS = ("SYNAPSE_REAL", "SYNAPSE_REAL_CLI", "SYNAPSE_GOLDEN", "SYNAPSE_WEB", "SYNAPSE_MESH")
for _name in sorted({*os.environ} - {*_OURS}):
    if _name.startswith(("SYNAPSE_", "A2A_", "XDG_")) or _name.lower().endswith("_proxy"):
        del os.environ[_name]

# gRPC's threads would write to the terminal of a program that the same worker starts later.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# Nor must `nohup` or a shell: children inherit ignored signals.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTOU):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--random-order"):
        hypothesis.settings.load_profile("random")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two for each core, and one more: most of the time of most tests is waiting for a real agent."""
    cores = len(os.sched_getaffinity(0))
    return cores + 1 if config.getoption("--fast") else 2 * cores + 1


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as made, made.ours():
        yield made
