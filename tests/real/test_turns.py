"""The turns of the CLIs that have tests of their own: exact, interrupted, silent in the middle, failed."""

from __future__ import annotations

import pytest

from synapse.registry import PROCESSING, READY
from tests.real.model_server import ModelServer, expected
from tests.real.wrapped import Agent, Sender
from tests.support.home import Home

SOURCES = {"aider": "transcript", "kimi": "exact", "vibe": "exact"}

pytestmark = pytest.mark.parametrize("cli", SOURCES, indirect=True)


def test_replies_are_exact_and_an_interrupt_is_one(agent: Agent, home: Home, model: ModelServer) -> None:
    scenarios = ["markdown", "long200", "looks-like-a-prompt", "ping"]
    for number, scenario in enumerate(scenarios, 1):
        prompt = f"hello #scenario:{scenario}"
        agent.driver.submit(prompt)
        turn = agent.ended(number)
        agent.until(READY)
        assert (turn["reply"], turn["source"], turn["outcome"]) == (
            expected(scenario),
            SOURCES[agent.cli.name],
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
    if agent.cli.name == "vibe":
        agent.driver.submit("/clear")  # opens another conversation, with a journal of its own
        agent.driver.wait_for("New conversation started", 20)
        agent.until(READY, 10)
    task = Sender(agent, home)
    assert task.until(task.send("hello\nagain #scenario:ping 9"))["artifacts"][0]["data"] == "PONG-9"
