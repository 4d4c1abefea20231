"""Mistral Vibe inside Synapse."""

from __future__ import annotations

import pytest

from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from tests.real.clis import Cli
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import COMMAND, TOUCHED
from tests.real.wrapped import ENDED, Agent, Sender, wrapped
from tests.support.home import Home

pytestmark = pytest.mark.parametrize("cli", ["vibe"], indirect=True)

OPTIONS = ["Allow once", "Allow for remainder of this session", "Always allow", "Deny"]


def test_replies_are_exact_and_an_interrupt_is_one(agent: Agent, home: Home, model: ModelServer) -> None:
    scenarios = ["markdown", "long200", "looks-like-a-prompt", "ping"]
    for number, scenario in enumerate(scenarios, 1):
        prompt = f"hello #scenario:{scenario}"
        agent.driver.submit(prompt)
        turn = agent.ended(number)
        agent.until(READY)
        assert (turn["reply"], turn["source"], turn["outcome"]) == (
            expected(scenario),
            "exact",
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
    agent.until(READY, 10)
    agent.driver.submit("/clear")  # opens another conversation, with a journal of its own
    agent.driver.wait_for("New conversation started", 20)
    agent.until(READY, 10)
    task = Sender(agent, home)
    assert task.until(task.send("hello\nagain #scenario:ping 9"))["artifacts"][0]["data"] == "PONG-9"


def test_a_command_is_run_only_after_the_question_has_named_it(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:tool")
    asked = sender.until(task, "input_required", *ENDED)["prompt"]
    assert agent.status == INPUT_REQUIRED and not (home.work / TOUCHED).exists()
    assert (asked["subject"], asked["options"]) == (COMMAND, OPTIONS), asked
    sender.answer(task, "Deny")
    done = sender.until(task)  # its model is told, and says something
    assert (done["state"], done["error"]["code"]) == ("canceled", "DENIED"), done
    assert COMMAND in done["error"]["message"] and not (home.work / TOUCHED).exists(), done
    task = sender.send("again #scenario:tool")
    sender.until(task, "input_required", *ENDED)
    sender.answer(task, "Allow once")
    assert sender.until(task)["artifacts"][0]["data"] == expected("tool")
    assert (home.work / TOUCHED).exists()


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
        two.driver.type("@one hello #scenario:ping 77")
        two.driver.wait_for("@one hello #scenario:ping 77", 10)
        two.driver.rest(1.0)
        two.driver.type("\r")
        two.driver.wait(lambda: model.prompts[-1].endswith("#scenario:ping 77"), "the line", 30)
        assert one.ended(4)["reply"] == "PONG-77" and len(two.turns) == 3
