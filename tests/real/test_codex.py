"""Several Codex in one directory, with the server that they share: each thread is the right agent's."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synapse.peers import control
from synapse.registry import PROCESSING, READY
from synapse.selftest.driver import Driver
from tests.real.clis import Cli, shared_codex, stop_codex
from tests.real.install import Installed
from tests.real.model_server import ModelServer
from tests.real.wrapped import ENDED, PATIENCE
from tests.support.home import SYNAPSE, Home, hosts, wait

ROUNDS = int(os.environ.get("SYNAPSE_REAL_ROUNDS", "4"))
FIRST_START = 120.0  # seconds: the shared server is copied into the home first


class Codex:
    """One Codex inside Synapse, with a human at its keyboard."""

    def __init__(self, home: Home, cli: Cli, name: str, *args: str) -> None:
        self.name = name
        self._home = home
        env = {**cli.env, **{key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST")}}
        self.driver = Driver([*SYNAPSE, "codex", "--name", name, *args], env, home.work)

    def call(self, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> dict[str, Any]:
        return control.call(self._home.agents()[self.name], method, path, body)

    @property
    def status(self) -> str:
        return str(self.call("/why")["status"])

    @property
    def turns(self) -> list[dict[str, Any]]:
        return list(self.call("/turns")["turns"])

    def until_ready(self, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while self.name not in self._home.agents() or self.status != READY:
            assert time.monotonic() < deadline, self.driver.screen.text()
            self.driver.rest(0.05)

    def send(self, text: str) -> str:
        return str(self.call("/tasks/send-priority?priority=1", "POST", {"message": text})["task"]["id"])

    def get(self, task: str) -> dict[str, Any]:
        found = self.call(f"/tasks/{task}")
        return dict(found.get("task", found))


class Room:
    """The agents of one test; all of their terminals are looked at while one waits."""

    def __init__(self, home: Home, cli: Cli, stack: ExitStack) -> None:
        self.home, self.cli, self._stack = home, cli, stack
        self.agents: list[Codex] = []

    def start(self, name: str, *args: str) -> Codex:
        agent = Codex(self.home, self.cli, name, *args)
        self._stack.enter_context(agent.driver)
        self.agents.append(agent)
        agent.until_ready(FIRST_START)
        assert agent.call("/why")["evidence"][0]["source"] in (
            "osc",
            "transcript",
        )  # not the silence of its start
        return agent

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for agent in self.agents:
                agent.driver.pump(0.01)

    def ended(self, *sent: tuple[Codex, str]) -> list[dict[str, Any]]:
        deadline = time.monotonic() + PATIENCE
        while any((task := agent.get(name))["state"] not in ENDED for agent, name in sent):
            assert time.monotonic() < deadline, task
            self.rest(0.05)
        return [agent.get(name) for agent, name in sent]

    def human(self, agent: Codex, number: int) -> None:
        """A turn of the human, until its answer is on the screen."""
        agent.driver.submit(f"by hand #scenario:ping {number}")
        agent.driver.wait_for(f"PONG-{number}\n")
        agent.until_ready()

    def rollouts(self) -> set[Path]:
        return set(self.home.path.glob(".codex/sessions/*/*/*/rollout-*.jsonl"))


@pytest.fixture
def room(installed: Installed, home: Home, model: ModelServer) -> Iterator[Room]:
    cli = shared_codex(installed, home.path, home.work, model.url)
    cli = replace(cli, env={**cli.env, "SYNAPSE_INITIAL_INSTRUCTIONS": "off"})
    try:
        with ExitStack() as stack:
            yield Room(home, cli, stack)
    finally:
        stop_codex(cli, home.path)


def exact(task: dict[str, Any], reply: str) -> None:
    assert task["state"] == "completed", task
    assert (task["artifacts"][0]["data"], task["metadata"]["turn"]["source"]) == (reply, "exact"), task


def test_messages_to_both_at_once(room: Room) -> None:
    """With human turns and /new between them."""
    a, b = room.start("a"), room.start("b")
    for agent in (a, b):
        agent.driver.wait_for("← for agents")
        assert "Running without" not in agent.driver.screen.text()
    for number in range(1, ROUNDS + 1):
        tasks = room.ended(
            (a, a.send(f"a {number} #scenario:ping {number}")),
            (b, b.send(f"b {number} #scenario:ping {number + 1000}")),
        )
        exact(tasks[0], f"PONG-{number}")
        exact(tasks[1], f"PONG-{number + 1000}")
        if number % 3 == 1:
            room.human(a, number + 2000)
        if number % 4 == 2:
            b.driver.submit("/new")
            room.rest(1.0)
            b.until_ready()
        if number % 4 == 3:
            room.human(b, number + 3000)
    assert len(room.rollouts()) == 2 + (ROUNDS + 2) // 4


def test_the_prompt_of_the_command_line_is_the_first_turn(room: Room) -> None:
    a = room.start("a", "fix it #scenario:ping 5")
    deadline = time.monotonic() + PATIENCE
    while not a.turns or a.turns[0]["ended_at"] is None:
        assert time.monotonic() < deadline, a.driver.screen.text()
        room.rest(0.05)
    (task,) = room.ended((a, a.send("next #scenario:ping 6")))
    exact(task, "PONG-6")
    assert [(turn["prompt"].split("]")[-1].strip(), turn["reply"]) for turn in a.turns] == [
        ("fix it #scenario:ping 5", "PONG-5"),
        ("next #scenario:ping 6", "PONG-6"),
    ]


def test_human_turns_after_a_new_thread(room: Room) -> None:
    """Known by the line that was submitted: nothing of ours is in the thread."""
    a, b = room.start("a"), room.start("b")
    room.human(a, 11)
    room.human(b, 12)
    a.driver.submit("/new")
    room.rest(1.0)
    a.until_ready()
    room.human(a, 13)
    room.ended((b, b.send("x #scenario:ping 14")))
    for agent, replies in ((a, ["PONG-11", "PONG-13"]), (b, ["PONG-12", "PONG-14"])):
        assert [(turn["reply"], turn["source"]) for turn in agent.turns] == [(r, "exact") for r in replies]


def test_no_false_ready_while_one_works_and_the_other_is_done(room: Room, model: ModelServer) -> None:
    a, b = room.start("a"), room.start("b")
    room.ended((a, a.send("warm up #scenario:ping 1")), (b, b.send("warm up #scenario:ping 2")))
    model.speed = 1
    slow = a.send("think #scenario:silence-before")
    while a.get(slow)["state"] != "working":
        room.rest(0.05)
    quick = b.send("quick #scenario:ping 3")
    seen = set()
    while a.get(slow)["state"] == "working":
        status, done = a.status, b.get(quick)["state"] in ENDED
        if a.get(slow)["state"] == "working":  # still: it was so all the time
            seen.add((status, done))
        room.rest(0.05)
    assert (PROCESSING, True) in seen and {status for status, _ in seen} == {PROCESSING}
    exact(a.get(slow), "This came after a silence.")
    exact(b.get(quick), "PONG-3")


def test_a_thread_is_resumed_by_another_terminal(room: Room) -> None:
    a = room.start("a")
    (task,) = room.ended((a, a.send("first #scenario:ping 1")))
    exact(task, "PONG-1")
    (path,) = room.rollouts()
    a.driver.submit("/new")
    room.rest(1.0)
    a.until_ready()
    b = room.start("b", "resume", path.stem[-36:])
    tasks = room.ended((a, a.send("new #scenario:ping 2")), (b, b.send("resumed #scenario:ping 3")))
    exact(tasks[0], "PONG-2")
    exact(tasks[1], "PONG-3")
    assert len(room.rollouts()) == 2 and "PONG-3" in path.read_text() and "PONG-2" not in path.read_text()
    assert [turn["reply"] for turn in a.turns] == ["PONG-1", "PONG-2"]


def test_the_next_host_knows_the_thread(room: Room) -> None:
    a = room.start("a")
    room.ended((a, a.send("first #scenario:ping 1")))
    (host,) = hosts(room.home, "a")
    os.kill(host, 9)
    wait(lambda: hosts(room.home, "a") not in ([], [host]), "another host")
    a.until_ready()
    (task,) = room.ended((a, a.send("second #scenario:ping 2")))
    exact(task, "PONG-2")
    assert [turn["reply"] for turn in a.turns] == ["PONG-1", "PONG-2"]


def test_the_tools_of_the_shared_server_send_for_the_right_agent(room: Room, home: Home) -> None:
    """They have the variables of the agent that started the server."""
    a, b = room.start("a"), room.start("b")
    script = home.path / "synapse-command"
    script.write_text(f'#!/bin/sh\nexec {" ".join(SYNAPSE)} "$@"\n')
    script.chmod(0o755)
    asked = b.send("ask #scenario:ask-a")
    deadline = time.monotonic() + PATIENCE
    while b.get(asked)["state"] != "input_required":
        assert time.monotonic() < deadline, b.driver.screen.text()
        room.rest(0.05)
    b.driver.type("y")
    (task,) = room.ended((b, asked))
    exact(task, "a says PONG-9.")
    (got,) = a.call("/tasks?limit=9")["tasks"]
    assert got["sender"]["name"] == "b", got


def test_embedded_if_the_profile_says_so(room: Room, home: Home, model: ModelServer) -> None:
    """With `--no-daemon`, so that it does not warn, and with its instructions from the start."""
    home.profile("codex", "extends: codex\nembedded: true\n")
    room.cli = replace(room.cli, env={**room.cli.env, "SYNAPSE_INITIAL_INSTRUCTIONS": "on"})
    a = room.start("a")
    (task,) = room.ended((a, a.send("hello #scenario:ping 1")))
    exact(task, "PONG-1")
    text = a.driver.screen.text()
    assert "Running without" not in text, text
    assert "Synapse A2A session" in str(model.replies[0].request.body)
    assert not (home.path / ".codex" / "app-server-daemon").exists()
    assert not [note for note in a.call("/why")["notes"] if "refused" in note]  # its `notify` counts
