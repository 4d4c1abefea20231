"""The real CLIs are run only when asked for: SYNAPSE_REAL=1 pytest tests/real, or SYNAPSE_REAL=core for those
tests that show of each CLI that it works.

A test marked `shared` gets a CLI that runs already, with the home and the model server that belong to it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse.selftest.driver import Driver
from tests.real.clis import CLIS, MORE, NAMES, Cli
from tests.real.groups import Groups, group_of
from tests.real.install import Installed, NotInstalled, install
from tests.real.lasting import Lasting, Prepare, Running, write_notes
from tests.real.model_server import ModelServer
from tests.real.wrapped import Agent, wrapped
from tests.support.home import Home, new_home

HERE = Path(__file__).parent
CHOSEN = os.environ.get("SYNAPSE_REAL")
if CHOSEN not in ("1", "core"):
    collect_ignore_glob = ["test_*.py"]

FAILED = pytest.StashKey[bool]()


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


@pytest.fixture(scope="session")
def lasting(installed: Installed) -> Iterator[Lasting]:
    made = Lasting(installed)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def lent(request: pytest.FixtureRequest, lasting: Lasting) -> Iterator[Running | None]:
    """The running CLI of a test that is marked as `shared`; any other test ends it."""
    key = group_of(request.node.nodeid)
    if key is None:
        lasting.close()
        yield None
        return
    with lasting.lent(request.node.callspec.params["cli"], _prepare(request.node), key) as running:
        yield running
        if request.node.stash.get(FAILED, False):
            lasting.close()


@pytest.fixture
def home(lent: Running | None) -> Iterator[Home]:
    if lent is not None:
        yield lent.home
        return
    with new_home() as made, made.ours():
        yield made


@pytest.fixture
def model(lent: Running | None) -> Iterator[ModelServer]:
    """The scripted model, without its pauses; a test that wants them sets `model.speed = 1`."""
    if lent is not None:
        yield lent.model
        return
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


# What `.ci/run` runs, of every CLI: its start, an exact turn, a question, an interrupt, a draft, a line for
# another agent, a kill. All others run with `make test-real`.
CORE = (
    *FOR_ALL,
    "test_replies_are_exact_and_an_interrupt_is_one",
    "test_a_command_is_run_only_after_the_question_has_named_it",
    "test_a_permission_is_asked_with_its_subject_and_its_options",
    "test_its_own_questions_are_answered_one_after_the_other",
    "test_a_draft_of_two_lines_stays",
    "test_half_a_draft_left_and_come_back_to",
    "test_a_half_typed_line_stays",
    "test_each_as_sender",
    "test_an_unknown_name_is_text_like_any_other",
    "test_two_in_one_directory_do_not_mix",
    "test_the_next_host_takes_a_message_at_once",
    "test_the_next_host_knows_the_thread",
    "test_a_menu_that_the_human_opens_is_no_question",
    "test_many_lines_arrive_whole",
    "test_the_question_names_server_tool_and_arguments",
    "test_without_a_login_the_task_fails_with_the_reason",
    "test_the_next_waits_and_priority_5_does_not",
    "test_claude_asks_codex_by_itself",
    "test_codex_in_its_default_sandbox_asks_claude",
    "test_codex_rejects_twice_and_approves_what_claude_changed",
    "test_a_client_of_version_1_0",
    "test_a_client_of_version_0_3",
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "shared(prepare=None): it uses a CLI that runs already; `prepare` configures that before its start",
    )


def _prepare(item: pytest.Item) -> Prepare | None:
    mark = item.get_closest_marker("shared")
    found: Prepare | None = mark.kwargs.get("prepare") if mark else None
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests that share a CLI come one after the other."""
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    others = [item for item in items if not item.path.is_relative_to(HERE)]
    if CHOSEN == "core":
        left_out = [item for item in ours if getattr(item, "originalname", "") not in CORE]
        config.hook.pytest_deselected(items=left_out)
        ours = [item for item in ours if item not in left_out]
    items[:] = others + sorted(ours, key=lambda item: group_of(item.nodeid) or "")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups | None:
    """`--dist loadgroup` of xdist 3.8 sets a field that pytest 9.2 does not read: it groups nothing."""
    return Groups(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`cli` is each of them, unless the test itself says which."""
    said = any("cli" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if "cli" in metafunc.fixturenames and not said:
        more = MORE if metafunc.function.__name__ in FOR_ALL else ()
        metafunc.parametrize("cli", (*NAMES, *more), indirect=True)


@pytest.fixture
def cli(
    request: pytest.FixtureRequest, installed: Installed, lent: Running | None, home: Home, model: ModelServer
) -> Cli:
    """Each of the real CLIs, in a fresh home; `home.terminal(cli.program, *cli.args, **cli.env)` wraps it."""
    if lent is not None:
        return lent.cli
    write_notes(home)
    return CLIS[request.param](installed, home.path, home.work, model.url)


@pytest.fixture
def bare(cli: Cli, home: Home) -> Iterator[Driver]:
    """The CLI without Synapse, at its prompt."""
    with Driver(cli.argv, {**cli.env, "SYNAPSE_TEST": home.env["SYNAPSE_TEST"]}, home.work) as driver:
        driver.wait_for(cli.ready, 60)
        yield driver


@pytest.fixture
def agent(cli: Cli, home: Home, lent: Running | None) -> Iterator[Agent]:
    if lent is not None:
        yield lent.agent
        return
    # Off: where instructions go with the first message, they would be in its prompt.
    with wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off") as started:
        yield started
