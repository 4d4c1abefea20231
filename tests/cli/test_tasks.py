"""`synapse tasks`, `task`, `input`, `cancel`, `interrupt`."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.home import Home, wait
from tests.support.running import Agent


@pytest.fixture
def agent(home: Home) -> Iterator[Agent]:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    made = Agent(home)
    yield made
    made.http.close()


def test_tasks_and_one_of_them(agent: Agent, home: Home) -> None:
    assert "no task" in home.run("tasks").stdout
    done = agent.until(agent.send("say 日本語 \\n two"))
    short = done["id"][:8]
    listed = home.run("tasks", "a").stdout
    assert short in listed and "completed" in listed and "say 日本語" in listed
    (only,) = json.loads(home.run("tasks", "--json").stdout)
    assert only["id"] == done["id"] and only["message"]["parts"][0]["text"] == "say 日本語 \\n two"
    shown = home.run("task", short).stdout
    assert "confirmed" in shown and shown.endswith("日本語 \n two\n")
    assert json.loads(home.run("task", short, "--json").stdout)["state"] == "completed"
    home.run("stop", "a")
    assert "(ended)" in home.run("tasks").stdout, "they are there when the agent is gone"


def test_a_task_that_is_not_there(home: Home) -> None:
    for words in (("task", "0123"), ("task", "xyz"), ("input", "0123", "y"), ("cancel", "0123")):
        done = home.run(*words, check=False)
        assert done.returncode == 3 and "there is no task" in done.stderr


def test_answer_a_question(agent: Agent, home: Home) -> None:
    task = agent.send("choose red|green")
    agent.until(task, "input_required")
    assert f"synapse input {task[:8]}" in home.run("task", task[:8]).stdout
    refused = home.run("input", task[:8], "blue", check=False)
    assert refused.returncode == 1 and "green" in refused.stderr
    inside = {"SYNAPSE_AGENT_ID": "f" * 64, "SYNAPSE_AGENT_NAME": "other"}
    other = home.run("input", task[:8], "green", check=False, **inside)
    assert other.returncode == 1 and "may not answer" in other.stderr, "another agent may not"
    assert "answered" in home.run("input", task[:8], "green").stdout
    assert agent.until(task)["artifacts"][0]["data"] == "You chose: green"


def test_cancel_and_interrupt(agent: Agent, home: Home) -> None:
    slow = agent.send("silent 60 x")
    agent.until(slow, "working")
    assert "is canceled" in home.run("cancel", slow[:8]).stdout
    again = home.run("cancel", slow[:8], check=False)
    assert again.returncode == 1 and "already" in again.stderr
    wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
    assert "idle" in home.run("interrupt", "a").stdout
    slow = agent.send("silent 60 x")
    agent.until(slow, "working")
    assert "was interrupted" in home.run("interrupt", "a").stdout
    assert agent.until(slow)["state"] == "canceled"
    slow = agent.send("silent 60 x")
    agent.until(slow, "working")
    assert "priority 5" in home.run("interrupt", "a", "say", "stop").stdout
    assert agent.until(slow)["state"] == "canceled"


@pytest.mark.parametrize("ended", ["stopped", "relay killed", "relay and host killed"])
def test_what_a_dead_agent_had_in_its_queue_has_failed(agent: Agent, home: Home, ended: str) -> None:
    slow = agent.send("silent 60 x")
    agent.until(slow, "working")
    queued = agent.send("say two")
    if ended == "stopped":
        home.run("stop", "a")
    else:
        relay = int(str(home.agents()["a"]["pid"]))
        hosts = [p for p in home.processes() if b"synapse.host" in Path(f"/proc/{p}/cmdline").read_bytes()]
        for pid in (*hosts, relay) if "host" in ended else (relay,):
            os.kill(pid, signal.SIGKILL)
    home.wait_no_process()
    wait(lambda: home.agents() == {}, "the kernel to let go of the lock")
    tasks = {task["id"]: task for task in json.loads(home.run("tasks", "--json").stdout)}
    for task in (slow, queued):
        assert tasks[task]["state"] == "failed" and tasks[task]["error"]["message"], tasks[task]
    said = home.run("task", queued[:8]).stdout
    assert ("error PROCESS_EXIT" if ended == "stopped" else "error AGENT_GONE") in said
    again = home.run("cancel", queued[:8], check=False)
    assert again.returncode == 1 and "is failed already" in again.stderr
