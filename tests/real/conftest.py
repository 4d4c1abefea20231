"""The real CLIs are run only when asked for: SYNAPSE_REAL=1 pytest -n 0 tests/real."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from synapse.selftest.driver import Driver
from tests.real.clis import CLIS, MORE, NAMES, Cli
from tests.real.install import Installed, NotInstalled, install
from tests.real.model_server import ModelServer
from tests.real.scenarios import NOTES, NOTES_TEXT
from tests.real.wrapped import Agent, wrapped
from tests.support.home import Home

if os.environ.get("SYNAPSE_REAL") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def installed(pytestconfig: pytest.Config) -> Installed:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():  # it may take a minute: let people see why
            made = install()
            print("\nreal CLIs: " + ", ".join(f"{name} {version}" for name, version in made.versions.items()))
            return made
    except NotInstalled as error:
        pytest.exit(f"the tests with the real CLIs DID NOT RUN: {error}", returncode=1)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """The scripted model, without its pauses; a test that wants them sets `model.speed = 1`."""
    with ModelServer(speed=0) as server:
        yield server
    assert server.failures == []


# What shows that a channel is exact. Each test takes half a minute with each CLI.
FOR_ALL = (
    "test_a_denied_tool_ends_the_task_as_denied",
    "test_a_permission_prompt_is_answered_through_the_task",
    "test_a_permission_prompt_with_its_options",
    "test_a_task_and_its_exact_reply",
    "test_another_conversation_and_a_compacted_one",
    "test_escape_and_ctrl_c_interrupt_and_the_status_heals",
    "test_replies_are_exact_to_the_character",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`cli` is each of them, unless the test itself says which."""
    said = any("cli" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if "cli" in metafunc.fixturenames and not said:
        more = MORE if metafunc.function.__name__ in FOR_ALL else ()
        metafunc.parametrize("cli", (*NAMES, *more), indirect=True)


@pytest.fixture
def cli(request: pytest.FixtureRequest, installed: Installed, home: Home, model: ModelServer) -> Cli:
    """Each of the real CLIs, in a fresh home; `home.terminal(cli.program, *cli.args, **cli.env)` wraps it."""
    (home.work / NOTES).write_text(NOTES_TEXT)
    return CLIS[request.param](installed, home.path, home.work, model.url)


@pytest.fixture
def bare(cli: Cli, home: Home) -> Iterator[Driver]:
    """The CLI without Synapse, at its prompt."""
    with Driver(cli.argv, {**cli.env, "SYNAPSE_TEST": home.env["SYNAPSE_TEST"]}, home.work) as driver:
        driver.wait_for(cli.ready, 60)
        yield driver


@pytest.fixture
def agent(cli: Cli, home: Home) -> Iterator[Agent]:
    # Off: where instructions go with the first message, they would be in its prompt.
    with wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off") as started:
        yield started
