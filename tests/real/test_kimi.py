"""Kimi Code inside Synapse. Nothing in its records names its process: what was typed shows which are ours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synapse.registry import INPUT_REQUIRED, READY
from tests.real.clis import Cli
from tests.real.model_server import ModelServer
from tests.real.scenarios import CHOICES, COLOUR, COMMAND, LONG_COMMAND, SIZES, TOUCHED, WRITTEN, WRITTEN_TEXT
from tests.real.wrapped import ENDED, Agent, Sender, knows, until, wrapped
from tests.support.home import Home

pytestmark = pytest.mark.parametrize("cli", ["kimi"], indirect=True)

OPTIONS = ["Approve once", "Approve for this session", "Reject", "Reject with feedback"]


@pytest.mark.shared
def test_a_permission_is_asked_with_its_subject_and_its_options(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:tool")
    asked = sender.until(task, "input_required", *ENDED)["prompt"]
    assert agent.status == INPUT_REQUIRED and not (home.work / TOUCHED).exists()
    assert (asked["question"], asked["subject"], asked["options"]) == ("Run this command?", COMMAND, OPTIONS)
    sender.answer(task, "Approve once")
    done = sender.until(task)
    assert done["state"] == "completed" and (home.work / TOUCHED).exists(), done
    for answer in ("Reject", "Approve once"):
        task = sender.send("hello #scenario:write")
        asked = sender.until(task, "input_required", *ENDED)["prompt"]
        assert (asked["question"], asked["options"]) == ("Write this file?", OPTIONS), asked
        assert asked["subject"] == f"Write {home.work / WRITTEN}" and "+ one" in asked["detail"], asked
        sender.answer(task, answer)
        done = sender.until(task)
        if answer == "Reject":
            assert (done["state"], (done.get("error") or {}).get("code")) == ("canceled", "DENIED"), done
            assert not (home.work / WRITTEN).exists()
    assert done["state"] == "completed" and (home.work / WRITTEN).read_text() == WRITTEN_TEXT, done
    task = sender.send("hello #scenario:long-command")  # taller than the screen
    asked = sender.until(task, "input_required", *ENDED)["prompt"]
    assert asked["detail"].startswith(LONG_COMMAND) and "unseen" not in asked, asked
    assert asked["subject"] == "for n in 1 2; do … (62 lines)"
    agent.driver.type("\x1b")
    assert sender.until(task)["error"]["code"] == "DENIED"


@pytest.mark.shared
def test_its_own_questions_are_answered_one_after_the_other(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:kimi-questions")
    for question, options, answer in (
        (COLOUR, [*CHOICES[COLOUR], "Other"], "Blue"),
        (SIZES, [*CHOICES[SIZES], "Other"], "Small, Large"),
        ("Ready to submit your answers?", ["Submit", "Cancel"], "Submit"),
    ):
        until(agent, lambda asked=question: (agent.why["prompt"] or {}).get("question") == asked)  # type: ignore[misc]
        asked = sender.until(task, "input_required", *ENDED)["prompt"]
        assert (asked["question"], asked["options"]) == (question, options), asked
        assert asked.get("several", False) is (question == SIZES)
        sender.answer(task, answer)
    assert sender.until(task)["artifacts"][0]["data"] == "CHOSEN: Blue Small Large"


def test_a_draft_of_two_lines_stays(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    agent.driver.type("\x1b[200~half\na li\x1b[201~")
    agent.driver.wait(lambda: agent.why["composer"]["text"] == "half\na li", "the draft", 20)
    assert sender.until(sender.send("hello #scenario:ping"))["state"] == "completed"
    agent.driver.wait(lambda: agent.why["composer"]["text"] == "half\na li", "the draft again", 20)


def test_two_in_one_directory_do_not_mix(cli: Cli, home: Home, model: ModelServer) -> None:
    with (
        wrapped(cli, home, name="one", SYNAPSE_INITIAL_INSTRUCTIONS="off") as one,
        wrapped(cli, home, name="two", SYNAPSE_INITIAL_INSTRUCTIONS="off") as two,
    ):
        senders = [Sender(agent, home) for agent in (one, two)]
        for number in range(1, 4):
            tasks = [s.send(f"hello #scenario:ping {number}{n}") for n, s in enumerate(senders)]
            two.driver.rest(0.5)
            for n, (sender, task) in enumerate(zip(senders, tasks, strict=True)):
                assert sender.until(task)["artifacts"][0]["data"] == f"PONG-{number}{n}"
                one.driver.rest(0.1)
        knows(one, home, "two")
        one.driver.type("@two your turn #scenario:ping 77")
        one.driver.rest(0.5)
        one.driver.type("\r")
        until(one, lambda: two.driver.pump(0.01) and "← two: replied" in one.driver.screen.text())
        assert two.turns[-1]["reply"] == "PONG-77" and len(one.turns) == 3


def test_another_conversation_is_followed(cli: Cli, home: Home, model: ModelServer) -> None:
    with wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off") as agent:
        agent.driver.submit("hello #scenario:ping 1")
        assert agent.ended(1)["reply"] == "PONG-1"
        agent.until(READY)
        agent.driver.submit("/new")
        agent.driver.wait_for("Started a new session", 20)
        agent.until(READY)
        agent.driver.submit("hello #scenario:ping 2")
        assert agent.ended(2)["reply"] == "PONG-2"
        sender = Sender(agent, home)
        assert sender.until(sender.send("hello #scenario:ping 3"))["artifacts"][0]["data"] == "PONG-3"
    with wrapped(cli, home, "--continue", SYNAPSE_INITIAL_INSTRUCTIONS="off") as agent:
        agent.driver.wait_for("PONG-3", 20)
        agent.driver.submit("hello #scenario:ping 4")
        turn = agent.ended(1)
        assert (turn["prompt"], turn["reply"]) == ("hello #scenario:ping 4", "PONG-4"), agent.turns


def test_a_missing_login_and_a_rejected_key_are_said(cli: Cli, home: Home, model: ModelServer) -> None:
    env = {name: value for name, value in cli.env.items() if not name.startswith("KIMI_MODEL_")}
    with wrapped(replace(cli, env=env, ready="not set, run /login"), home) as agent:
        sender = Sender(agent, home)
        for _ in range(2):
            error = sender.until(sender.send("hello"))["error"]
            assert error["code"] == "LOGIN_REQUIRED" and "`synapse attach kimi`" in error["message"], error
    with wrapped(cli, home) as agent:
        sender = Sender(agent, home)
        error = sender.until(sender.send("hello #scenario:error401"))["error"]
        assert error["code"] == "LOGIN_REQUIRED" and "401" in error["message"], error


def test_the_same_first_line_at_the_same_moment_gets_each_its_own_session(
    cli: Cli, home: Home, model: ModelServer
) -> None:
    line = "hello #scenario:echo"
    with (
        wrapped(cli, home, name="one", SYNAPSE_INITIAL_INSTRUCTIONS="off") as one,
        wrapped(cli, home, name="two", SYNAPSE_INITIAL_INSTRUCTIONS="off") as two,
    ):
        agents = (one, two)
        for agent in agents:
            agent.driver.type(line)
            agent.driver.wait_for(line, 10)
            agent.driver.rest(0.3)
        for agent in agents:
            agent.driver.type("\r")
        for agent in agents:
            assert agent.ended(1)["prompt"] == line and agent.why["missing"] == []
        one.driver.submit("hello #scenario:ping 6")  # only the session that was taken then tells
        assert one.ended(2)["reply"] == "PONG-6"
        assert len(two.turns) == 1
