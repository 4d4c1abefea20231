"""The vim keys of the real CLIs: lines and messages in normal mode, in which letters are commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.real.clis import Cli
from tests.real.model_server import ModelServer
from tests.real.wrapped import Agent, Sender, knows, tasks_of, until, wrapped
from tests.support.home import Home

NAMES = ("claude", "codex", "gemini", "qwen")
INSERT = {"claude": "-- INSERT --", "codex": "Vim: Insert", "gemini": "[INSERT]", "qwen": "-- INSERT --"}
DRAFTS = ("a draft of mine", "- item (x)")  # letters, and what else begins a command of normal mode


def set_vim_keys(cli: Cli, home: Home) -> tuple[str, ...]:
    """As a user sets them; the arguments for it."""
    if cli.name == "codex":
        return ("-c", "tui.vim_mode_default=true")
    path = home.path / f".{cli.name}" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    said = json.loads(path.read_text()) if path.exists() else {}
    if cli.name == "claude":
        said["editorMode"] = "vim"
    else:
        said.setdefault("general", {})["vimMode"] = True
    path.write_text(json.dumps(said))
    return ()


@pytest.fixture
def agent(cli: Cli, home: Home, model: ModelServer) -> Iterator[Agent]:
    arguments = set_vim_keys(cli, home)
    shown = "mode." if cli.name in ("gemini", "qwen") else INSERT[cli.name]
    home.run("start", "dummy", "--name", "helper")
    with wrapped(replace(cli, ready=shown), home, *arguments, SYNAPSE_INITIAL_INSTRUCTIONS="off") as agent:
        knows(agent, home, "helper")
        yield agent
    home.run("stop", "helper", check=False)


def begin_insert_mode(agent: Agent) -> None:
    insert = INSERT[agent.cli.name]
    agent.driver.rest(0.5)
    if insert not in agent.driver.screen.text():
        agent.driver.type("i")
        agent.driver.wait_for(insert)


def type_and_leave_insert_mode(agent: Agent, text: str) -> None:
    begin_insert_mode(agent)
    agent.driver.type(text)
    until(agent, lambda: agent.why["composer"]["text"] == text)
    agent.driver.rest(0.3)
    agent.driver.type("\x1b")
    agent.driver.rest(0.1)  # as quick as a human may be


@pytest.mark.parametrize("cli", NAMES, indirect=True)
def test_lines_and_a_message_over_a_draft_in_both_modes(agent: Agent, home: Home, model: ModelServer) -> None:
    begin_insert_mode(agent)
    for key in "@helper say one":  # slowly: lists of files open and close below the composer
        agent.driver.type(key)
        agent.driver.rest(0.1)
    agent.driver.type("\r")
    until(agent, lambda: len(tasks_of(home, "helper")) == 1)
    until(agent, lambda: agent.why["composer"]["state"] == "empty")
    for count, motion in ((2, ""), (3, "0"), (4, "$")):
        type_and_leave_insert_mode(agent, "@helper say hello from normal mode")
        agent.driver.type(motion)
        agent.driver.rest(0.2)
        agent.driver.type("\r")
        until(agent, lambda count=count: len(tasks_of(home, "helper")) == count)  # type: ignore[misc]
        until(agent, lambda: agent.why["composer"]["state"] == "empty")
    until(agent, lambda: "← helper: replied" in agent.driver.screen.text())
    assert agent.turns == []
    sender = Sender(agent, home)
    for draft, motion in zip(DRAFTS, "0$", strict=True):
        type_and_leave_insert_mode(agent, draft)
        until(agent, lambda: INSERT[agent.cli.name] not in agent.driver.screen.text())
        agent.driver.type(motion)
        assert sender.until(sender.send("hello #scenario:ping 4"))["artifacts"][0]["data"] == "PONG-4"
        until(agent, lambda draft=draft: agent.why["composer"]["text"] == draft)  # type: ignore[misc]
        agent.driver.rest(3.0)
        assert agent.why["composer"]["text"] == draft
        agent.driver.type("\x03")  # Ctrl-C clears it
        until(agent, lambda: agent.why["composer"]["state"] == "empty")
