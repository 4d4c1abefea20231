"""A real Chromium is run only when asked for: SYNAPSE_WEB=1 pytest -n 2 tests/web."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.support.home import Home, new_home
from tests.support.view_server import View, running_view
from tests.web.page import Page

if os.environ.get("SYNAPSE_WEB") != "1":
    collect_ignore_glob = ["test_*.py"]

# No sandbox: in containers it cannot be made, and the page is our own. Nothing is asked of the network.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.exit(
            "the tests with a browser DID NOT RUN: there is no chromium (make chromium)", returncode=1
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def world() -> Iterator[View]:
    """A home with a running view, and three agents."""
    with new_home() as home, running_view(home) as view:
        home.run("start", "dummy", "--name", "alpha", "--", "--tui")
        home.run("start", "dummy", "--name", "beta")
        home.run("start", "dummy", "--name", "gamma")
        yield view


@pytest.fixture
def page(chromium: Browser, world: View) -> Iterator[Page]:
    with Page.opened(chromium, world) as made:
        yield made


@pytest.fixture
def home(world: View) -> Home:
    return world.home
