"""aider inside Synapse. It calls no tools: it reads commands and edits from the text of a reply, and asks."""

from __future__ import annotations

import pytest

from synapse.registry import INPUT_REQUIRED
from tests.real.model_server import ModelServer
from tests.real.scenarios import COMMAND, TOUCHED, WRITTEN, WRITTEN_TEXT
from tests.real.wrapped import ENDED, Agent, Sender
from tests.support.home import Home

pytestmark = pytest.mark.parametrize("cli", ["aider"], indirect=True)


@pytest.mark.shared
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


@pytest.mark.shared
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
