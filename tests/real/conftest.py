"""The real CLIs are run only when asked for: SYNAPSE_REAL=1 pytest -n 0 tests/real."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from synapse.registry import READY
from tests.real.clis import CLIS, Cli
from tests.real.driver import Driver
from tests.real.install import Installed, NotInstalled, install
from tests.real.model_server import ModelServer
from tests.real.scenarios import NOTES, NOTES_TEXT
from tests.real.wrapped import PATIENCE, Agent
from tests.support.home import SYNAPSE, Home

if os.environ.get("SYNAPSE_REAL") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def installed(pytestconfig: pytest.Config) -> Installed:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():  # it may take a minute: let people see why
            return install()
    except NotInstalled as error:
        pytest.exit(f"the tests with the real CLIs DID NOT RUN: {error}", returncode=1)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """The scripted model, without its pauses; a test that wants them sets `model.speed = 1`."""
    with ModelServer(speed=0) as server:
        yield server
    assert server.failures == []


@pytest.fixture(params=list(CLIS))
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
    env = {**cli.env, **{key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST")}}
    env["SYNAPSE_INITIAL_INSTRUCTIONS"] = "off"  # Gemini has no way but a turn of its own
    with Driver([*SYNAPSE, cli.program, *cli.args], env, home.work) as driver:
        driver.wait_for(cli.ready, PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while cli.name not in home.agents() or "is here" not in home.log(cli.name):
            assert time.monotonic() < deadline, home.log(cli.name)
            driver.rest(0.05)
        wrapped = Agent(driver, home, cli)
        wrapped.until(READY)
        yield wrapped
