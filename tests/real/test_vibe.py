"""Mistral Vibe inside Synapse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synapse.registry import INPUT_REQUIRED
from tests.real.clis import Cli
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import CHOICES, COLOUR, COMMAND, SIZES, TOUCHED
from tests.real.wrapped import ENDED, Agent, Sender, unready, until, wrapped
from tests.support.home import Home

pytestmark = pytest.mark.parametrize("cli", ["vibe"], indirect=True)

OPTIONS = ["Allow once", "Allow for remainder of this session", "Always allow", "Deny"]


@pytest.mark.shared
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


@pytest.mark.shared
def test_its_own_questions_are_answered_one_after_the_other(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:vibe-questions")
    for question, answer in ((COLOUR, "Blue"), (SIZES, "Small, Large")):
        until(agent, lambda asked=question: (agent.why["prompt"] or {}).get("question") == asked)  # type: ignore[misc]
        asked = sender.until(task, "input_required", *ENDED)["prompt"]
        assert [option.split()[0] for option in asked["options"]] == [*CHOICES[question], "Type"], asked
        assert asked.get("several", False) is (question == SIZES)
        sender.answer(task, answer)
    assert sender.until(task)["artifacts"][0]["data"] == "CHOSEN: Blue Small Large"


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


def test_a_rejected_key_is_a_missing_login(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    for scenario in ("error401", "ping"):  # it does not use the key again
        error = sender.until(sender.send(f"hello #scenario:{scenario}"))["error"]
        assert error["code"] == "LOGIN_REQUIRED" and "`synapse attach vibe`" in error["message"], error


def test_nothing_is_typed_into_the_pages_that_ask_for_a_login(
    cli: Cli, home: Home, model: ModelServer
) -> None:
    env = {name: value for name, value in cli.env.items() if name != "SCRIPTED_API_KEY"}
    with unready(replace(cli, env=env, ready="Enter continue"), home) as agent:
        sender = Sender(agent, home)
        agent.until(INPUT_REQUIRED)
        task = sender.send("hello #scenario:ping")
        for page in ("Select your preferred theme", "Paste API key"):
            agent.driver.type("\r")
            agent.driver.wait_for(page, 20)
            agent.until(INPUT_REQUIRED)
            agent.driver.rest(2.5)
            assert agent.status == INPUT_REQUIRED and sender.get(task)["state"] == "submitted"
        assert [receipt["step"] for receipt in sender.get(task)["receipts"]] == ["queued"]
        agent.driver.type("any-key")
        agent.driver.rest(0.5)
        agent.driver.type("\r")
        assert sender.until(task)["artifacts"][0]["data"] == "PONG-1"


def test_a_message_waits_until_the_folder_is_trusted(cli: Cli, home: Home, model: ModelServer) -> None:
    (home.work / "AGENTS.md").write_text("Be brief.\n")
    with unready(replace(cli, ready="Trust this folder?"), home) as agent:
        sender = Sender(agent, home)
        agent.until(INPUT_REQUIRED)
        task = sender.send("hello #scenario:ping")
        agent.driver.rest(2.5)
        assert agent.status == INPUT_REQUIRED and "asks something" in sender.get(task)["note"]
        assert [receipt["step"] for receipt in sender.get(task)["receipts"]] == ["queued"]
        agent.driver.type("1")
        agent.driver.rest(0.3)
        agent.driver.type("\r")
        assert sender.until(task)["artifacts"][0]["data"] == "PONG-1"
