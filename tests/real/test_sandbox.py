"""Commands in the real sandbox of Codex, which refuses every connection; and the same by MCP."""

from __future__ import annotations

import json
import subprocess

import pytest

from synapse.registry import INPUT_REQUIRED, READY
from tests.real.clis import CLIS, Cli
from tests.real.install import Installed
from tests.real.model_server import ModelServer
from tests.real.wrapped import Agent, start, tasks_of, until, wrapped
from tests.support.home import SYNAPSE, Home

TIMES = 20


@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
def test_every_message_from_a_sandbox_gets_its_reply(installed: Installed, home: Home, mode: str) -> None:
    for name in ("a", "b"):
        home.run("start", "dummy", "--name", name)
    env = {**home.env, **home.inside("a"), "PATH": f"{installed.bin}:{home.env['PATH']}"}

    def run(*words: str) -> str:
        sandbox = ["codex", "sandbox", "-c", f'sandbox_mode="{mode}"', *words]
        done = subprocess.run(
            sandbox,
            env=env,
            cwd=home.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    probe = "import socket; print(socket.socket(socket.AF_UNIX).connect_ex('/x'))"
    assert run(SYNAPSE[0], "-c", probe) == "1\n"  # it does refuse
    replies = [run(*SYNAPSE, "send", "b", "--return", f"say reply {number}") for number in range(TIMES)]
    assert replies == [f"reply {number}\n" for number in range(TIMES)]
    tasks = json.loads(run(*SYNAPSE, "tasks", "--json"))
    assert {task["sender"]["name"] for task in tasks} == {"a"}
    assert [entry["name"] for entry in json.loads(run(*SYNAPSE, "list", "--json"))] == ["a", "b"]
    assert "reply" in run(*SYNAPSE, "task", tasks[0]["id"])


def asked_by_codex(agent: Agent, home: Home, reply: str) -> None:
    turn = agent.ended(1, 120)
    assert turn["reply"] == f"Claude says {reply}.", turn
    (asked,) = tasks_of(home, "claude")
    assert asked["sender"]["name"] == "codex", asked
    assert asked["metadata"]["synapse"]["waiting"] == [home.agents()["codex"]["agent_id"]]


@pytest.mark.parametrize("cli", ["codex"], indirect=True)
def test_codex_in_its_default_sandbox_asks_claude(
    agent: Agent, installed: Installed, home: Home, model: ModelServer
) -> None:
    """With its own shell tool, told so by the model: nobody is asked, and no connection is made."""
    start(home, CLIS["claude"](installed, home.path, home.work, model.url))
    # Codex lets a command run for ten seconds before it goes on without its result.
    until(agent, lambda: home.agents()["claude"]["status"] == READY, 60)
    agent.driver.submit("hello #scenario:ask-claude")
    asked_by_codex(agent, home, "PONG-8")
    home.run("stop", "claude", check=False)


@pytest.mark.parametrize("cli", ["codex"], indirect=True)
def test_codex_asks_claude_by_mcp(cli: Cli, installed: Installed, home: Home, model: ModelServer) -> None:
    home.profile("codex", "extends: codex\nmcp: true\n")
    start(home, CLIS["claude"](installed, home.path, home.work, model.url))
    with wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off") as agent:
        agent.driver.submit("hello #scenario:ask-by-mcp")
        agent.until(INPUT_REQUIRED)
        agent.driver.rest(1.0)
        agent.driver.type("\r")  # the first option: yes
        asked_by_codex(agent, home, "PONG-6")
    home.run("stop", "claude", check=False)
