"""The real CLIs as A2A peers: a task goes in over HTTP, and what comes out is what the model said."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from datetime import datetime

import pytest

from synapse.registry import READY
from tests.real.clis import Cli
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import COMMAND, LONG_COMMAND, TOUCHED, WRITTEN, WRITTEN_TEXT
from tests.real.wrapped import ENDED, Agent, Sender, until, wrapped
from tests.support.home import Home, hosts


@pytest.mark.shared
def test_a_task_and_its_exact_reply(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    for scenario in ("markdown", "two-messages", "ping"):
        text = f"hello #scenario:{scenario}"
        task = sender.until(sender.send(text))
        assert task["state"] == "completed", task
        prompt = f"[A2A:{task['id'][:8]}:user] {text}"
        assert task["artifacts"][0]["data"] == expected(scenario, prompt)
        assert task["artifacts"][0]["metadata"]["source"] in ("exact", "transcript")


@pytest.mark.shared
def test_many_lines_arrive_whole(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    text = "\n".join(f"line {n}: 日本語 `code` @notes.txt /help !ls" for n in range(60))
    task = sender.until(sender.send(text))
    assert task["state"] == "completed", task
    reply = task["artifacts"][0]["data"].replace("\u2060", "")
    assert text in reply, reply


@pytest.mark.shared
def test_leading_spaces_and_a_final_backslash_arrive(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    for text in ("    indented\n        more\nC:\\dir\\", "one line \\"):
        task = sender.until(sender.send(f"\n{text}\n"))
        assert task["state"] == "completed", task
        assert f"[A2A:{task['id'][:8]}:user] {text}" in task["artifacts"][0]["data"], task


def test_the_next_host_takes_a_message_at_once(agent: Agent, home: Home, model: ModelServer) -> None:
    """It knows the terminal modes, which were set longer ago than the output that it gets."""
    sender = Sender(agent, home)
    for _ in range(3):
        assert sender.until(sender.send("hello #scenario:long200"))["state"] == "completed"
    first = hosts(home)
    os.kill(first[0], signal.SIGKILL)
    agent.driver.wait(lambda: hosts(home) not in ([], first), "a new host", 30)
    task = sender.until(sender.send("two\nlines"))
    assert "The message is in the file" not in task["artifacts"][0]["data"], task
    at = {r["step"]: datetime.fromisoformat(r["at"]) for r in task["receipts"]}
    assert (at["typing"] - at["queued"]).total_seconds() < 3, task["receipts"]


@pytest.mark.shared
def test_a_permission_prompt_is_answered_through_the_task(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:tool")
    asked = sender.until(task, "input_required", *ENDED)
    assert asked["state"] == "input_required" and len(asked["prompt"]["options"]) >= 2, asked
    assert asked["prompt"]["subject"] == COMMAND and COMMAND in asked["prompt"]["text"], asked
    assert "unseen" not in asked["prompt"]
    assert not (home.work / TOUCHED).exists()
    sender.answer(task, "1")
    done = sender.until(task)
    assert done["artifacts"][0]["data"] == expected("tool") and (home.work / TOUCHED).exists()


def test_a_file_is_written_only_after_the_question_has_named_it(
    cli: Cli, home: Home, model: ModelServer
) -> None:
    """With its path and its text; and who denies it ends the task as denied."""
    if cli.name == "codex":
        cli = replace(cli, args=[*cli.args, "--sandbox", "read-only"])
    with wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off") as agent:
        sender = Sender(agent, home)
        task = sender.send("hello #scenario:write")
        prompt = sender.until(task, "input_required", *ENDED)["prompt"]
        assert WRITTEN in prompt["subject"] and len(prompt["options"]) >= 3, prompt
        assert all(line in prompt["detail"] for line in WRITTEN_TEXT.split()), prompt
        agent.driver.type("\x1b")
        done = sender.until(task)
        assert (done["state"], (done.get("error") or {}).get("code")) == ("canceled", "DENIED"), done
        assert not (home.work / WRITTEN).exists()
        task = sender.send("hello again #scenario:write")
        sender.until(task, "input_required", *ENDED)
        sender.answer(task, "1")
        assert sender.until(task)["artifacts"][0]["data"] == "It is written."
        assert (home.work / WRITTEN).read_text() == WRITTEN_TEXT


@pytest.mark.shared
def test_a_denied_tool_ends_the_task_as_denied(agent: Agent, home: Home, model: ModelServer) -> None:
    """By an answer to the task, and by a human's Escape. Gemini then writes all earlier turns once more."""
    sender = Sender(agent, home)
    for _ in range(2):
        assert sender.until(sender.send("hello #scenario:ping"))["state"] == "completed"
    task = sender.send("hello #scenario:tool")
    asked = sender.until(task, "input_required", *ENDED)
    sender.answer(
        task, next(option for option in asked["prompt"]["options"] if option.startswith(("No", "Reject")))
    )
    done = sender.until(task)
    assert (done["state"], (done.get("error") or {}).get("code")) == ("canceled", "DENIED"), done
    assert done["error"]["message"] == f"the human denied: {COMMAND}" and not (home.work / TOUCHED).exists()
    agent.until(READY)
    task = sender.send("hello again #scenario:tool")
    sender.until(task, "input_required", *ENDED)
    agent.driver.type("\x1b")
    done = sender.until(task)
    assert (done["state"], (done.get("error") or {}).get("code")) == ("canceled", "DENIED"), done
    evidence = next(receipt["evidence"] for receipt in done["receipts"] if receipt["step"] == "denied")
    assert evidence.endswith("says so"), "the CLI itself tells it"


def test_a_tool_that_is_stopped_while_it_runs_was_not_denied(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    """Also right after it was permitted: the records of Claude and Codex look nearly the same."""
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:sleeping")
    sender.until(task, "input_required", *ENDED)
    agent.driver.rest(1)
    agent.driver.type(agent.cli.accept)
    agent.driver.wait((home.work / TOUCHED).exists, "the tool", 30)
    agent.driver.rest(0.5)
    agent.stop()
    done = sender.until(task)
    assert done["state"] == "canceled" and not done.get("error"), done


def test_escape_at_work_is_no_denial(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    model.speed = 1.0
    slow = sender.send("hello #scenario:silence-before")
    sender.until(slow, "working")
    agent.driver.rest(1)
    agent.stop()
    done = sender.until(slow)
    assert done["state"] == "canceled" and not done.get("error"), done


@pytest.mark.shared
def test_a_long_command_is_told_whole_or_said_to_be_cut(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:long-command")
    prompt = sender.until(task, "input_required", *ENDED)["prompt"]
    if agent.cli.name == "gemini":  # it tells nobody before the human has answered
        assert "does not show all of what it would run" in prompt["text"]
    else:
        # The dialog may be drawn before the CLI tells the command, which Claude's hook does beside it.
        assert prompt["detail"].startswith(LONG_COMMAND) or "unseen" in prompt, prompt
        until(agent, lambda: "unseen" not in sender.get(task)["prompt"])
        prompt = sender.get(task)["prompt"]
        assert prompt["detail"].startswith(LONG_COMMAND), prompt
        assert prompt["subject"] == "for n in 1 2; do … (62 lines)"
    agent.driver.type("\x1b")
    assert sender.until(task)["error"]["code"] == "DENIED"


@pytest.mark.shared
def test_the_next_waits_and_priority_5_does_not(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    model.speed = 1.0
    first, second = sender.send("hello #scenario:silence-before"), sender.send("hello #scenario:ping")
    sender.until(first, "working")
    assert sender.get(second)["state"] == "submitted"
    assert sender.until(first)["artifacts"][0]["data"] == expected("silence-before")
    assert sender.until(second)["state"] == "completed"
    slow = sender.send("hello #scenario:silence-before")
    sender.until(slow, "working")
    urgent = sender.until(sender.send("hello #scenario:ping", 5))
    assert urgent["state"] == "completed", urgent
    assert sender.until(slow)["state"] == "canceled"


def test_a_half_typed_line_stays(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    agent.driver.type("half a li")
    agent.driver.wait_for("half a li")
    task = sender.send("hello #scenario:ping")
    until(agent, lambda: "half-typed" in sender.get(task).get("note", ""))
    agent.driver.rest(1.5)
    assert sender.get(task)["state"] == "submitted"
    assert "half a li" in agent.driver.screen.text()
    agent.driver.type("ne")
    agent.driver.rest(0.3)
    agent.driver.type("\r")
    assert sender.until(task)["state"] == "completed"
    mine, theirs = agent.turns[0], agent.turns[1]
    assert mine["prompt"] == "half a line" and theirs["prompt"].startswith("[A2A:")
