"""Two agents of one CLI in one directory: each has its own conversation, and each its own replies."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from synapse.registry import READY
from tests.real.clis import Cli
from tests.real.model_server import ModelServer
from tests.real.wrapped import ENDED, PATIENCE, Agent, Sender, wrapped
from tests.support.home import Home

ROUNDS = 20
WITHIN = 0.5  # seconds between the two messages of a round, at the most

AGAIN = {name: ["--continue"] for name in ("claude", "copilot", "opencode", "qwen", "vibe")}
AGAIN |= {"aider": ["--restore-chat-history"], "gemini": ["--resume", "latest"]}


class Pair:
    def __init__(self, home: Home, *agents: Agent) -> None:
        self.agents = agents
        self._senders = [Sender(agent, home) for agent in agents]

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for agent in self.agents:
                agent.driver.pump(0.01)

    def round(self, number: int) -> None:
        """One message to each; both replies are exact."""
        first, gap = number % 2, WITHIN * (number % 5) / 5
        tasks: dict[int, str] = {}
        for which in (first, 1 - first):
            tasks[which] = self._senders[which].send(f"hello #scenario:ping {number}{which}")
            self.rest(gap)
        for which, task in tasks.items():
            done = self._until(which, task)
            assert done["state"] == "completed", (number, which, done)
            artifact = done["artifacts"][0]
            assert artifact["data"] == f"PONG-{number}{which}", (number, which, done)
            assert artifact["metadata"]["source"] in ("exact", "transcript"), done

    def human(self, which: int, number: int) -> None:
        """A turn of the human at one of them, beside a message to the other."""
        agent, beside = self.agents[which], 1 - which
        self._ready(agent)
        before = len(agent.turns)
        agent.driver.submit(f"my turn #scenario:ping {number}")
        task = self._senders[beside].send(f"hello #scenario:ping {number}9")
        deadline = time.monotonic() + PATIENCE
        while len(turns := agent.turns) <= before or turns[before]["ended_at"] is None:
            assert time.monotonic() < deadline, (turns, agent.why, agent.driver.screen.text())
            self.rest(0.05)
        assert (turns[before]["prompt"], turns[before]["reply"]) == (
            f"my turn #scenario:ping {number}",
            f"PONG-{number}",
        )
        done = self._until(beside, task)
        assert done["artifacts"][0]["data"] == f"PONG-{number}9", done

    def clear(self, which: int) -> None:
        agent = self.agents[which]
        self._ready(agent)
        agent.driver.submit("/new" if agent.cli.name == "opencode" else "/clear")
        self.rest(1.5)
        self._ready(agent)

    def _ready(self, agent: Agent) -> None:
        deadline = time.monotonic() + PATIENCE
        while agent.status != READY:
            assert time.monotonic() < deadline, (agent.why, agent.driver.screen.text())
            self.rest(0.05)

    def _until(self, which: int, task: str) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while (found := self._senders[which].get(task))["state"] not in ENDED:
            assert time.monotonic() < deadline, (found, self.agents[which].why)
            self.rest(0.05)
        return found


@pytest.mark.parametrize("cli", ["claude", "copilot", "gemini"], indirect=True)
def test_messages_within_half_a_second(cli: Cli, home: Home, model: ModelServer) -> None:
    with (
        wrapped(cli, home, name="one", SYNAPSE_INITIAL_INSTRUCTIONS="off") as one,
        wrapped(cli, home, name="two", SYNAPSE_INITIAL_INSTRUCTIONS="off") as two,
    ):
        pair = Pair(home, one, two)
        for number in range(1, ROUNDS + 1):
            if number % 7 == 0:
                pair.clear(number // 7 % 2)
            pair.round(number)
            if number % 4 == 0:
                pair.human(number // 4 % 2, number)


@pytest.mark.parametrize("cli", AGAIN, indirect=True)
def test_one_of_them_is_resumed(cli: Cli, home: Home, model: ModelServer) -> None:
    """And then begins another conversation, beside messages and turns of a human."""
    with wrapped(cli, home, name="two", SYNAPSE_INITIAL_INSTRUCTIONS="off") as two:
        with wrapped(cli, home, name="one", SYNAPSE_INITIAL_INSTRUCTIONS="off") as one:
            Pair(home, one, two).round(1)
            done = Sender(one, home)
            assert done.until(done.send("hello #scenario:ping 5"))["state"] == "completed"
        if cli.name == "opencode":  # what its empty composer shows is not there in a conversation
            cli = replace(cli, ready="ctrl+p commands")
        with wrapped(cli, home, *AGAIN[cli.name], name="one", SYNAPSE_INITIAL_INSTRUCTIONS="off") as one:
            pair = Pair(home, one, two)
            for number in (2, 3):
                pair.round(number)
            pair.human(0, 4)
            pair.clear(0)
            pair.round(5)
            pair.human(1, 6)
