"""What a model may answer, and how it may fail, in the CLIs that talk to an API of the same kind."""

from __future__ import annotations

import pytest

from synapse.registry import INPUT_REQUIRED, READY
from tests.real.model_server import ModelServer, expected
from tests.real.wrapped import ENDED, PATIENCE, Agent, Sender
from tests.support.home import Home

# What becomes of an empty reply: only opencode takes it for one. Qwen Code asks again, for 20 seconds.
EMPTY = {"opencode": "completed", "copilot": "failed", "aider": "failed", "qwen": ""}

pytestmark = pytest.mark.parametrize("cli", EMPTY, indirect=True)


@pytest.mark.shared
def test_long_and_misleading_replies_are_exact_and_failures_are_failures(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    for scenario in ("wide", "looks-like-menus"):
        task = sender.send(f"hello #scenario:{scenario}")
        seen = set()
        while (found := sender.get(task))["state"] not in ENDED:
            seen.add(agent.status)
            agent.driver.rest(0.1)
        assert (found["state"], found["artifacts"][0]["data"]) == ("completed", expected(scenario)), found
        assert INPUT_REQUIRED not in seen and agent.why["prompt"] is None, agent.why
        agent.until(READY, 20)
        agent.driver.rest(0.5)
        assert agent.status == READY and agent.why["prompt"] is None, agent.why
    if EMPTY[agent.cli.name]:
        empty = sender.until(sender.send("hello #scenario:empty"), patience=PATIENCE)
        assert empty["state"] == EMPTY[agent.cli.name], empty
        assert empty["state"] == "failed" or empty["artifacts"][0]["data"] == "", empty
    refused = sender.until(sender.send("hello #scenario:error401"), patience=PATIENCE)
    assert (refused["state"], refused["error"]["code"]) == ("failed", "LOGIN_REQUIRED"), refused
    agent.until(READY, 20)
    assert sender.until(sender.send("hello #scenario:ping 3"))["artifacts"][0]["data"] == "PONG-3"
