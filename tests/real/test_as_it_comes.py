"""Each CLI shows the same with Synapse as without it: its first screen, and its page about itself."""

from __future__ import annotations

import re

import pytest

from synapse.selftest.driver import Driver
from tests.real.clis import CLIS, Cli, shared_codex, stop_codex
from tests.real.install import Installed
from tests.real.model_server import ModelServer
from tests.support.home import SYNAPSE, Home, new_home

# The command that shows what the CLI says about itself, and what it shows last.
ABOUT = {"claude": ("/status", "Esc to cancel"), "codex": ("/status", "Limits:"), "gemini": ("/about", "OS")}
# What our flags change on that page. As a plugin (--plugin-dir), Claude's hooks would be on its
# /plugin page instead, where one key disables them.
DIFFERS = {"claude": re.compile(r"(?:(?<=Setting sources:) +|, )Command line arguments")}
STARTED = {"claude": "? for shortcuts", "codex": "← for agents", "gemini": "Type your message"}
# What differs from one start to the next, with and without Synapse.
CHANGES = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids of sessions
    r"|synt-\w+|\b\d\d?:\d\d\b|\b\d+(?:\.\d+)? ?(?:ms|MB|GB)\b|127\.0\.0\.1:\d+|cc-socks/\d+|Tips?: .*"
)


def seen(argv: list[str], cli: Cli, home: Home) -> list[str]:
    """Every line of the first screen and of the page about itself, without what changes by itself."""
    env = {**cli.env, **{key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST")}}
    if cli.name == "gemini":
        env["SYNAPSE_INITIAL_INSTRUCTIONS"] = "off"  # they would be typed
    command, last = ABOUT[cli.name]
    with Driver(argv, env, home.work) as driver:
        driver.wait_for(STARTED[cli.name], 120)
        driver.settle(3.0)  # Gemini takes a command for a prompt until it has started
        first = driver.screen.text()
        driver.type(command)
        driver.wait_for(command)
        driver.settle(0.6)
        driver.type("\r")
        driver.wait_for(last)
        driver.settle(1.0)
        text = f"{first}\n{driver.screen.contents()}"
    return [CHANGES.sub("…", line).rstrip() for line in text.splitlines() if line.strip()]


@pytest.fixture(params=list(ABOUT))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def look(name: str, installed: Installed, url: str, wrap: list[str]) -> list[str]:
    with new_home() as home:
        make = shared_codex if name == "codex" else CLIS[name]
        cli = make(installed, home.path, home.work, url)
        try:
            return seen([*wrap, cli.program, *cli.args], cli, home)
        finally:
            if name == "codex":
                stop_codex(cli, home.path)


def test_it_looks_as_it_does_without_synapse(name: str, installed: Installed, model: ModelServer) -> None:
    bare = look(name, installed, model.url, [])
    wrapped = look(name, installed, model.url, SYNAPSE)
    assert [DIFFERS[name].sub("", line) if name in DIFFERS else line for line in wrapped] == bare
