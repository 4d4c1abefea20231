"""`synapse tasks`, `task`, `input`, `cancel`, `interrupt`."""

from __future__ import annotations

import json
import os
import signal
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse.tasks.store import TaskStore
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


def test_tokens_are_shown_where_they_are_known(home: Home) -> None:
    message = {"role": "user", "parts": [{"type": "text", "text": "hello"}]}
    ids = []
    for agent, usage in (("0", None), ("1", {"input_tokens": 1200, "output_tokens": 34})):
        if agent == "1":
            assert "TOKENS" not in home.run("tasks").stdout
        home.path.joinpath("synapse/agents", agent).mkdir(parents=True)
        store = TaskStore(str(home.path / f"synapse/agents/{agent}/tasks.db"))
        task = store.create(message)
        task.metadata["turn"] = {"usage": usage}
        store.update_status(task.id, "completed")
        store.close()
        ids.append(task.short_id)
    header, *rows = home.run("tasks").stdout.splitlines()
    assert "TOKENS" in header
    tokens = {row.split()[0]: "1234" in row.split() for row in rows}
    assert tokens == {ids[0]: False, ids[1]: True}
    assert "used 1200 tokens of input and 34 of output" in home.run("task", ids[1]).stdout
    assert "used" not in home.run("task", ids[0]).stdout


def test_nothing_in_a_task_drives_the_terminal(home: Home) -> None:
    evil = "x\x1b]0;owned\x07\x9b31m\u202eb\n"
    home.path.joinpath("synapse/agents/0").mkdir(parents=True)
    store = TaskStore(str(home.path / "synapse/agents/0/tasks.db"))
    message = {"role": "user", "parts": [{"type": "text", "text": evil}], "message_id": evil}
    task = store.create(message, sender={"id": evil, "name": evil}, metadata={evil: evil})
    store.add_receipt(task, "delivered", why=evil)
    store.update_status(task.id, "failed", error={"code": evil, "message": evil}, note=evil)
    store.close()
    for words in (["task", task.id], ["tasks"], ["task", task.id, "--json"], ["tasks", "--json"]):
        shown = home.run(*words).stdout
        assert not {char for char in shown if char != "\n" and unicodedata.category(char) in ("Cc", "Cs")}
        assert "\u202e" not in shown and "owned" in shown
        if "--json" in words:
            assert json.loads(shown)
        elif words[0] == "task":
            assert sum(line.startswith("error ") for line in shown.splitlines()) == 1


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


def test_a_secret_is_not_taken_from_the_command_line(agent: Agent, home: Home) -> None:
    task = agent.send("password")
    asked = agent.until(task, "input_required")["prompt"]
    refused = home.run("input", task[:8], "hunter-2", check=False)
    assert refused.returncode == 2 and "hunter-2" not in refused.stderr
    assert (
        f"synapse input {task[:8]} -" in refused.stderr and f"synapse answer {asked['id']}" in refused.stderr
    )
    assert agent.get(task)["state"] == "input_required", "nothing was typed"
    assert "answered" in home.run("input", task[:8], "-", input="hunter-2\n").stdout
    assert "8 characters" in agent.until(task)["artifacts"][0]["data"]


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
