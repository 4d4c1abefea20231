"""`@name …` at the prompts of the real CLIs: sent, answered, and nothing of it left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from synapse.registry import INPUT_REQUIRED, READY
from tests.real.clis import CLIS
from tests.real.install import Installed
from tests.real.model_server import ModelServer, expected
from tests.real.wrapped import Agent, Sender, knows, start, tasks_of, until
from tests.support.home import Home

FLEETING = re.compile(r" +◐ \w+ · /effort$| · ← for agents$", re.MULTILINE)
KEY = 0.03  # seconds between two keys of a quick human


@pytest.fixture
def other(home: Home) -> Iterator[str]:
    """The reference agent, in the background."""
    home.run("start", "dummy", "--name", "helper")
    yield "helper"
    home.run("stop", "helper", check=False)


def type_slowly(agent: Agent, text: str) -> None:
    """Key by key, so that what the CLI completes pops up."""
    for character in text:
        agent.driver.type(character)
        agent.driver.rest(KEY)


def screen_after_deleting(agent: Agent, text: str) -> str:
    """The screen once a human has typed this and deleted it: what pops up may have moved the composer."""
    type_slowly(agent, text)
    agent.driver.rest(0.5)
    type_slowly(agent, "\x7f" * len(text))
    agent.driver.rest(1.0)
    while text[:2] in agent.driver.screen.text():  # Copilot takes some late, and loses some
        type_slowly(agent, "\x7f")
        agent.driver.rest(0.3)
    agent.driver.rest(1.0)
    return lasting(agent)


def lasting(agent: Agent) -> str:
    """The screen without what Claude 2.1.325 shows for the first ten seconds only."""
    return FLEETING.sub("", agent.driver.screen.text())


def test_each_as_sender(agent: Agent, home: Home, model: ModelServer, other: str) -> None:
    knows(agent, home, other)
    empty = screen_after_deleting(agent, f"@{other} say see @notes.txt and")
    for number, text in enumerate(("say from afar", "say see @notes.txt and /help, or not"), 1):
        type_slowly(agent, f"@{other} {text}")
        agent.driver.rest(0.5)
        agent.driver.type("\r")
        until(agent, lambda: f"← {other}: replied" in agent.driver.screen.text())
        sent = tasks_of(home, other)
        assert len(sent) == number, f"{text}\n{agent.driver.screen.text()}"
        assert sent[0]["state"] == "completed"
        assert sent[0]["message"]["parts"][0]["text"] == text
        agent.driver.type("\x1do")
        until(agent, lambda: f"{other} · replied" in agent.driver.screen.text())
        assert text.removeprefix("say ") in agent.driver.screen.text()
        agent.driver.type("q")
        until(agent, lambda: lasting(agent) == empty)
    assert agent.turns == [] and agent.status == READY
    prompt = "hello #scenario:ping"
    agent.driver.submit(prompt)
    turn = agent.ended(1)
    assert turn["prompt"] == prompt and turn["reply"] == expected("ping", prompt)


@pytest.mark.shared
def test_an_unknown_name_is_text_like_any_other(agent: Agent, home: Home, model: ModelServer) -> None:
    prompt = "mail me@nobody or @nobody #scenario:ping"
    agent.driver.submit(prompt)
    turn = agent.ended(1)
    assert turn["prompt"] == prompt and turn["reply"] == expected("ping", prompt)


@pytest.fixture
def impatient(home: Home) -> None:
    """Drafts make room after three seconds."""
    (home.path / "synapse").mkdir(exist_ok=True)
    (home.path / "synapse" / "config.yaml").write_text("routing:\n  draft_patience: 3\n")


def test_half_a_draft_left_and_come_back_to(
    impatient: None, agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    agent.driver.type("half a li")
    agent.driver.wait_for("half a li")
    task = sender.send("hello #scenario:ping")
    done = sender.until(task, patience=90)
    assert done["state"] == "completed", done
    until(agent, lambda: "half a li" in agent.driver.screen.text())
    agent.until(READY)
    agent.driver.rest(1.5)
    agent.driver.type("ne #scenario:ping")
    agent.driver.rest(0.5)
    agent.driver.type("\r")
    mine = agent.ended(2)
    assert mine["prompt"] == "half a line #scenario:ping"


@pytest.mark.parametrize("cli", ["claude"], indirect=True)
def test_claude_asks_codex(agent: Agent, installed: Installed, home: Home, model: ModelServer) -> None:
    codex = CLIS["codex"](installed, home.path, home.work, model.url)
    start(home, codex)
    knows(agent, home, "codex")
    text = "hello #scenario:markdown"
    type_slowly(agent, f"@codex {text}")
    agent.driver.rest(0.5)
    agent.driver.type("\r")
    until(agent, lambda: "← codex: replied" in agent.driver.screen.text(), 60)
    done = tasks_of(home, "codex")[0]
    reply = expected("markdown", f"[A2A:{done['id'][:8]}:claude] {text}")
    assert done["artifacts"][0]["data"] == reply
    agent.driver.type("\x1do")
    until(agent, lambda: "codex · replied" in agent.driver.screen.text())
    agent.driver.type("i")  # hand it over
    turn = agent.ended(1)
    assert turn["prompt"].replace("\u2060", "").endswith(reply.strip()), turn["prompt"]
    home.run("stop", "codex", check=False)


@pytest.mark.parametrize("cli", ["claude"], indirect=True)
def test_claude_asks_codex_by_itself(
    agent: Agent, installed: Installed, home: Home, model: ModelServer
) -> None:
    """In its own shell tool, told so by the model: the exact reply is the tool's result."""
    start(home, CLIS["codex"](installed, home.path, home.work, model.url))
    agent.driver.submit("hello #scenario:ask-codex")
    agent.until(INPUT_REQUIRED)
    agent.driver.rest(1.0)  # Claude ignores what is pressed when its dialog has only just come
    agent.driver.type(agent.cli.accept)
    turn = agent.ended(1, 90)
    assert turn["reply"] == "Codex says PONG-7, no more.", turn
    asked = tasks_of(home, "codex")
    assert len(asked) == 1 and asked[0]["sender"]["name"] == "claude"
    assert asked[0]["metadata"]["synapse"]["waiting"] == [home.agents()["claude"]["agent_id"]]
    home.run("stop", "codex", check=False)
