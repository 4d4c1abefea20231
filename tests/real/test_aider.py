"""aider inside Synapse. It calls no tools: it reads commands and edits from the text of a reply, and asks."""

from __future__ import annotations

import pytest

from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import COMMAND, TOUCHED, WRITTEN, WRITTEN_TEXT
from tests.real.wrapped import ENDED, Agent, Sender
from tests.support.home import Home

pytestmark = pytest.mark.parametrize("cli", ["aider"], indirect=True)


def test_replies_are_exact_and_an_interrupt_is_one(agent: Agent, home: Home, model: ModelServer) -> None:
    scenarios = ["markdown", "long200", "looks-like-a-prompt", "ping"]
    for number, scenario in enumerate(scenarios, 1):
        prompt = f"hello #scenario:{scenario}"
        agent.driver.submit(prompt)
        turn = agent.ended(number)
        agent.until(READY)
        assert (turn["reply"], turn["source"], turn["outcome"]) == (
            expected(scenario),
            "transcript",
            "completed",
        ), turn
        assert turn["prompt"] == prompt and turn["usage"]["output_tokens"] > 0
    model.speed = 1
    agent.driver.submit("hello #scenario:slow")
    agent.driver.wait_for("word03", 20)
    assert agent.status == PROCESSING
    agent.stop()
    agent.until(READY, 10)
    turn = agent.ended(len(scenarios) + 1, 10)
    assert turn["outcome"] == "interrupted" and turn["reply"].startswith("word01 word02"), turn
    model.speed = 0.75
    agent.driver.submit("hello #scenario:silence-middle")
    agent.until(PROCESSING, 10)
    seen = set()
    while len(model.replies) < len(scenarios) + 2 or model.replies[-1].finished is None:
        seen.add(agent.status)
        agent.driver.rest(0.1)
    assert seen == {PROCESSING}, "READY in the middle of a turn"
    assert agent.ended(len(scenarios) + 2)["reply"] == expected("silence-middle")
    agent.driver.submit("hello #scenario:error400")
    turn = agent.ended(len(scenarios) + 3)
    assert (turn["outcome"], turn["error"]["code"]) == ("failed", "API_ERROR"), turn
    task = Sender(agent, home)
    assert task.until(task.send("hello\nagain #scenario:ping 9"))["artifacts"][0]["data"] == "PONG-9"


def test_a_command_is_run_only_after_the_question_has_named_it(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:tool")
    asked = sender.until(task, "input_required", *ENDED)["prompt"]
    assert agent.status == INPUT_REQUIRED and not (home.work / TOUCHED).exists()
    assert asked["subject"] == COMMAND and asked["options"] == ["Yes", "No", "Don't ask again"], asked
    sender.answer(task, "Yes")
    agent.driver.wait((home.work / TOUCHED).exists, "the command", 30)
    asked = sender.until(task, "input_required", *ENDED)["prompt"]
    assert asked["prompt"].startswith("Add command output to the chat?"), asked
    sender.answer(task, "No")
    done = sender.until(task)
    assert done["state"] == "completed", done
    assert done["artifacts"][0]["data"] == f"I will touch a file.\n\n```bash\n{COMMAND}\n```"


def test_who_denies_it_ends_the_task_as_denied(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:write")
    asked = sender.until(task, "input_required", *ENDED)["prompt"]
    assert asked["subject"] == WRITTEN, asked
    sender.answer(task, "No")
    done = sender.until(task)
    assert (done["state"], (done.get("error") or {}).get("code")) == ("canceled", "DENIED"), done
    assert not (home.work / WRITTEN).exists()
    for scenario, unmade in (("tool", TOUCHED), ("write", WRITTEN)):
        task = sender.send(f"hello #scenario:{scenario}")
        sender.until(task, "input_required", *ENDED)
        agent.driver.type("n\r")  # a human at its keyboard
        done = sender.until(task)
        assert (done["state"], (done.get("error") or {}).get("code")) == ("canceled", "DENIED"), done
        assert not (home.work / unmade).exists()
    task = sender.send("again #scenario:write")
    sender.until(task, "input_required", *ENDED)
    sender.answer(task, "Yes")
    assert sender.until(task)["state"] == "completed"
    assert (home.work / WRITTEN).read_text() == WRITTEN_TEXT


def test_a_draft_of_two_lines_stays(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    agent.driver.type("\x1b[200~half\na li\x1b[201~")
    agent.driver.wait(lambda: agent.why["composer"]["text"] == "half\na li", "the draft", 20)
    assert sender.until(sender.send("hello #scenario:ping"))["state"] == "completed"
    agent.driver.wait(lambda: agent.why["composer"]["text"] == "half\na li", "the draft again", 20)
