"""Mistral Vibe inside Synapse."""

from __future__ import annotations

import pytest

from synapse.registry import INPUT_REQUIRED
from tests.real.clis import Cli
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import COMMAND, TOUCHED
from tests.real.wrapped import ENDED, Agent, Sender, wrapped
from tests.support.home import Home

pytestmark = pytest.mark.parametrize("cli", ["vibe"], indirect=True)

OPTIONS = ["Allow once", "Allow for remainder of this session", "Always allow", "Deny"]


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
