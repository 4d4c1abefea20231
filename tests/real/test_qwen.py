"""Qwen Code inside Synapse."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from synapse.registry import READY
from tests.real.clis import Cli
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import COMMAND
from tests.real.wrapped import ENDED, Agent, Sender, knows, tasks_of, until, wrapped
from tests.support.home import Home

pytestmark = pytest.mark.parametrize("cli", ["qwen"], indirect=True)


def append(data: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("ab") as file:
            file.write(data)

    return damage


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut": lambda path: os.truncate(path, 0),
    "half a line": append(b'{"type": "assi'),
    "junk": append(b'{"type": "assi' + bytes(range(256)) * 3),
    "junk without an end": append(b"\xff" * 700),
}


def damage_its_events_and_send(agent: Agent, home: Home, damage: Callable[[Path], None]) -> None:
    sender = Sender(agent, home)
    assert sender.until(sender.send("hello #scenario:ping 1"))["state"] == "completed"
    (events,) = Path(home.env["SYNAPSE_HOME"]).glob("agents/*/qwen-events.jsonl")
    damage(events)
    for number, scenario in enumerate(("ping 2", "two-messages", "markdown", "ping 3"), 2):
        text = f"hello #scenario:{scenario}"
        task = sender.until(sender.send(text))
        assert task["state"] == "completed", (task, agent.why)
        prompt = f"[A2A:{task['id'][:8]}:user] {text}"
        assert task["artifacts"][0]["data"] == expected(scenario.split()[0], prompt), (task, agent.why)
        agent.until(READY, 15)
        assert len(agent.turns) == number, agent.turns


@pytest.mark.shared
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_message_is_lost_with_the_file_of_its_events(
    agent: Agent, home: Home, model: ModelServer, damage: str
) -> None:
    damage_its_events_and_send(agent, home, DAMAGES[damage])
    assert agent.why["missing"] == []


def test_no_message_is_lost_when_the_file_of_its_events_is_removed(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    """For the rest of its life it writes no more events: no other test can share it."""
    damage_its_events_and_send(agent, home, os.unlink)
    assert "events are lost" in str(agent.why["missing"])


@pytest.mark.shared
def test_a_question_beside_a_scroll_bar_stays_the_same(agent: Agent, home: Home, model: ModelServer) -> None:
    """It shows the bar for a second, when the conversation is longer than the screen."""
    sender = Sender(agent, home)
    assert sender.until(sender.send("hello #scenario:long200"))["state"] == "completed"
    task = sender.send("hello #scenario:tool")
    first = sender.until(task, "input_required", *ENDED)["prompt"]
    assert first["subject"] == COMMAND and first["options"][-1] == "No, suggest changes", first
    agent.driver.rest(3)
    assert sender.get(task)["prompt"] == first
    sender.answer(task, first["options"][0])
    assert sender.until(task)["artifacts"][0]["data"] == expected("tool")


def test_a_line_to_an_agent_leaves_the_prompt_of_its_vim_mode(
    cli: Cli, home: Home, model: ModelServer
) -> None:
    settings = home.path / ".qwen" / "settings.json"
    said = json.loads(settings.read_text())
    settings.write_text(json.dumps({**said, "general": {**said.get("general", {}), "vimMode": True}}))
    home.run("start", "dummy", "--name", "helper")
    with wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off") as agent:
        knows(agent, home, "helper")
        agent.driver.type("i")
        agent.driver.wait_for("-- INSERT --")
        agent.driver.submit("@helper hello from the prompt of its vim mode, which is a long line")
        until(agent, lambda: bool(tasks_of(home, "helper")))
        until(agent, lambda: agent.why["composer"]["state"] == "empty")
        task = Sender(agent, home).until(Sender(agent, home).send("hello #scenario:ping 4"))
        assert task["artifacts"][0]["data"] == "PONG-4", task
    home.run("stop", "helper", check=False)
