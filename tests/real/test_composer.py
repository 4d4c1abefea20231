"""What is in the composers of the real CLIs is seen: keys that leave nothing in them delay no message."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from datetime import datetime
from typing import Any

import pytest

from synapse.registry import INPUT_REQUIRED, READY
from tests.real.model_server import ModelServer
from tests.real.wrapped import Agent, Sender, knows, tasks_of, until
from tests.support.home import Home, hosts, wait

NORMAL = 5.0  # seconds from the last key to the paste, at most: the gate's pause, and a busy machine

KEYS = {
    "escape": ["\x1b"],
    "tab": ["\t"],
    "up and down": ["\x1b[A", "\x1b[B", "\x1b[B"],  # in Gemini the first Down goes to the end of the line
    "typed and erased": ["ab", "\x7f", "\x7f"],
}


def waited(task: dict[str, Any]) -> float:
    at = {r["step"]: datetime.fromisoformat(r["at"].replace("Z", "+00:00")) for r in task["receipts"]}
    return (at["typing"] - at["queued"]).total_seconds()


def test_keys_that_leave_the_composer_empty_delay_nothing(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    agent.driver.submit("hello #scenario:ping")
    agent.ended(1)
    agent.until(READY)
    times = {}
    for name, keys in KEYS.items():
        if (agent.cli.name, name) == ("copilot", "tab"):
            continue  # it opens another page
        agent.driver.rest(1.0)
        for key in keys:
            agent.driver.type(key)
            agent.driver.rest(0.3)
        done = sender.until(sender.send("hello #scenario:ping"))
        assert done["state"] == "completed", (name, done)
        times[name] = waited(done)
    assert max(times.values()) < NORMAL, times


def test_the_answer_to_a_permission_prompt_is_no_draft(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    agent.driver.submit("hello #scenario:tool")
    until(agent, lambda: agent.cli.asks in agent.driver.screen.text())
    agent.driver.rest(0.5)
    agent.driver.type(agent.cli.accept)
    agent.ended(1)
    done = sender.until(sender.send("hello #scenario:ping"))
    assert done["state"] == "completed" and waited(done) < NORMAL, done
    assert "set aside" not in str(done["receipts"])
    agent.until(READY)
    agent.driver.rest(1.5)
    assert agent.why["composer"]["state"] == "empty", agent.driver.screen.text()


def test_a_draft_that_is_seen_makes_room_after_five_seconds(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    agent.driver.type("half a li")
    agent.driver.wait_for("half a li")
    done = sender.until(sender.send("hello #scenario:ping"))
    assert done["state"] == "completed" and waited(done) < 12.0, done
    agent.until(READY)
    until(agent, lambda: agent.why["composer"]["text"] == "half a li")


def test_a_line_from_the_history_is_routed(agent: Agent, home: Home, model: ModelServer) -> None:
    agent.driver.submit("@helper say again #scenario:ping")
    agent.ended(1)
    agent.until(READY)
    home.run("start", "dummy", "--name", "helper")
    knows(agent, home, "helper")
    agent.driver.type("\x1b[A")
    until(agent, lambda: str(agent.why["composer"]["text"]).startswith("@helper say again"))
    agent.driver.rest(0.5)
    agent.driver.type("\r")
    until(agent, lambda: bool(tasks_of(home, "helper")))
    home.run("stop", "helper", check=False)


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
@pytest.mark.parametrize("cli", ["claude"], indirect=True)
def test_an_editor_gets_its_own_lines(agent: Agent, home: Home, model: ModelServer) -> None:
    home.run("start", "dummy", "--name", "helper")
    knows(agent, home, "helper")
    agent.driver.type("x")
    agent.driver.rest(0.5)
    agent.driver.type("\x07")  # Ctrl-G
    until(agent, lambda: agent.why["composer"]["state"] in ("absent", "dialog"))
    agent.driver.type("i@helper say in the editor\r")
    agent.driver.wait_for("@helper say in the editor")
    agent.driver.type("\x1b:wq\r")
    until(agent, lambda: agent.why["composer"]["state"] == "draft")
    assert agent.why["composer"]["text"].startswith("@helper say in the editor")
    assert tasks_of(home, "helper") == []
    home.run("stop", "helper", check=False)


@pytest.mark.skipif(os.environ.get("SYNAPSE_REAL_CLI") != "latest", reason="a page of newer versions")
@pytest.mark.parametrize("cli", ["claude"], indirect=True)
def test_a_page_of_agents_is_not_the_composer(agent: Agent, home: Home, model: ModelServer) -> None:
    """What is typed there would begin another conversation. The one it shows goes on in a server."""
    sender = Sender(agent, home)
    assert sender.until(sender.send("hello #scenario:ping"))["state"] == "completed"
    agent.until(READY)
    agent.driver.rest(1.0)
    agent.driver.type("\x1b[D")
    agent.driver.rest(2.0)
    if "for a new session" not in agent.driver.screen.text():
        pytest.skip("this version has no such page")
    try:
        task = sender.send("hello #scenario:ping")
        agent.driver.rest(3.0)
        assert sender.get(task)["state"] == "submitted", sender.get(task)
        agent.driver.type("\x1b")
        assert sender.until(task)["state"] == "completed"
        assert sender.until(sender.send("hello #scenario:ping"))["state"] == "completed"
        assert sum("A2A:" in prompt for prompt in model.prompts) == 3
    finally:
        stop = [agent.cli.program, "daemon", "stop", "--any"]
        subprocess.run(stop, env={**home.env, **agent.cli.env}, capture_output=True, timeout=60)


def test_a_menu_that_the_human_opens_is_no_question(agent: Agent, home: Home, model: ModelServer) -> None:
    """Nobody else need answer it, also after the host was replaced; a message that waits says so."""
    sender = Sender(agent, home)
    agent.driver.rest(1.0)
    agent.driver.type("/model")
    agent.driver.rest(1.0)
    agent.driver.type("\r")
    until(agent, lambda: agent.why["menu"])
    (host,) = hosts(home)
    os.kill(host, signal.SIGKILL)
    wait(lambda: host not in hosts(home) and len(hosts(home)) == 1, "the next host")
    agent.until(INPUT_REQUIRED)
    task = sender.send("hello #scenario:ping")
    until(agent, lambda: "a menu is open at its terminal" in str(sender.get(task).get("note")))
    asked = home.run("questions", "--json")
    assert json.loads(asked.stdout) == [], asked.stdout
    agent.driver.type("\x1b")
    done = sender.until(task)
    assert done["state"] == "completed" and not agent.why["menu"], done
