"""A human who types to another agent at the moment in which a task has ended."""

from __future__ import annotations

from tests.real.model_server import ModelServer
from tests.real.wrapped import Agent, Sender
from tests.support.home import Home


def test_a_line_for_another_agent_right_after_a_reply(agent: Agent, home: Home, model: ModelServer) -> None:
    home.run("start", "dummy", "--name", "pr", check=True)
    sender = Sender(agent, home)
    for number in range(6):
        done = sender.until(sender.send(f"hello #scenario:ping {number}"))
        assert done["artifacts"][0]["data"] == f"PONG-{number}", done
        agent.driver.type(f"@pr say to-pr-{number}")
        agent.driver.wait_for(f"to-pr-{number}")
        agent.driver.type("\r")
        agent.driver.wait(
            lambda: f"to-pr-{number}" in home.run("tasks", "pr").stdout,  # noqa: B023
            "the message",
            20,
        )
        agent.driver.rest(1)
    assert not any("to-pr" in prompt for prompt in model.prompts)
