"""A human who types the next message while the agent works on a task of somebody else."""

from __future__ import annotations

import pytest

from tests.real.model_server import ModelServer, expected
from tests.real.wrapped import Agent, Sender
from tests.support.home import Home

STEERED = ("codex", "qwen")  # Enter adds the message to the turn that is running
QUEUED = ("claude", "copilot", "gemini", "opencode")


def _while_it_works(agent: Agent, home: Home, model: ModelServer) -> tuple[Sender, str]:
    sender = Sender(agent, home)
    model.speed = 1.0
    task = sender.send("hello #scenario:slow")
    agent.driver.wait_for("word05", 60)
    agent.driver.submit("typed by a human #scenario:ping 9")
    return sender, task


@pytest.mark.parametrize("cli", QUEUED, indirect=True)
def test_what_it_queues_ends_no_task(agent: Agent, home: Home, model: ModelServer) -> None:
    sender, task = _while_it_works(agent, home, model)
    done = sender.until(task)
    assert done["state"] == "completed", done
    assert done["artifacts"][0]["data"] == expected("slow"), done
    agent.driver.wait(lambda: len(agent.turns) > 1 and agent.turns[1]["ended_at"] is not None, "its turn", 60)
    assert "typed by a human" in agent.turns[1]["prompt"] and agent.turns[1]["reply"] == "PONG-9", agent.turns
    after = sender.until(sender.send("hello #scenario:ping 4"))
    assert after["artifacts"][0]["data"] == "PONG-4", after


@pytest.mark.parametrize("cli", STEERED, indirect=True)
def test_what_it_adds_to_the_turn_is_said(agent: Agent, home: Home, model: ModelServer) -> None:
    """The reply is what the agent said at the end of that turn; the receipt says that a human took part."""
    sender, task = _while_it_works(agent, home, model)
    done = sender.until(task)
    assert done["state"] == "completed", done
    assert done["artifacts"][0]["data"].endswith("PONG-9"), done
    (replied,) = [receipt for receipt in done["receipts"] if receipt["step"] == "replied"]
    if agent.cli.name != "qwen":  # nothing that it writes tells that
        assert "its human added a message" in replied["steered"], done
    after = sender.until(sender.send("hello #scenario:ping 4"))
    assert after["artifacts"][0]["data"] == "PONG-4", after
