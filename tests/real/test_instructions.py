"""What the real CLIs are told about the other agents, and when."""

from __future__ import annotations

import pytest

from tests.real.clis import Cli
from tests.real.model_server import ModelServer
from tests.real.wrapped import Sender, wrapped
from tests.support.home import Home


@pytest.mark.parametrize("cli", ["gemini"], indirect=True)
def test_gemini_is_told_with_its_first_message(cli: Cli, home: Home, model: ModelServer) -> None:
    with wrapped(cli, home) as agent:
        agent.driver.settle()
        assert agent.turns == [] and model.prompts == [], "nothing is typed that nobody asked for"
        sender = Sender(agent, home)
        for number in (1, 2):
            task = sender.until(sender.send(f"hello #scenario:ping {number}"))
            assert task["artifacts"][0]["data"] == f"PONG-{number}", task
        first, second = (turn["prompt"] for turn in agent.turns)
        assert first.startswith("[A2A:") and "\n\n[synapse-system] You are the agent 'gemini'" in first
        assert second.endswith("hello #scenario:ping 2")
