"""What an agent is told about the others, and how it gets it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from synapse.agent_context import build_instructions
from synapse.peers import control
from tests.support.home import Home, hosts, wait
from tests.support.running import Agent

SAY_ARGUMENTS = "extends: dummy\ninstructions: {method: argument, argument: --instructions}\n"


def entry(name: str) -> dict[str, object]:
    return {"name": name, "agent_type": "claude"}


def test_identity_is_told_with_who_else_runs() -> None:
    text = build_instructions(entry("a"), [entry("a"), entry("b")])
    assert "'a'" in text and "b (claude)" in text and "a (claude)" not in text
    synapse = os.path.join(os.path.dirname(sys.executable), "synapse")
    assert f"`{synapse} send <name> --return" in text and f"`{synapse} list`" in text
    assert "`synapse" not in text and "[A2A:<task>:<sender>]" in text
    assert "nobody else" in build_instructions(entry("a"), [])
    assert "and 8 more" in build_instructions(entry("a"), [entry(f"n{n}") for n in range(20)])


def test_identity_by_an_argument(home: Home) -> None:
    shell = 'printf "%s|" "$@"; while read line; do :; done'
    home.profile("mine", f"command: [sh, -c, {json.dumps(shell)}, sh]\n" + SAY_ARGUMENTS.split("\n", 1)[1])
    home.run("start", "dummy", "--name", "other")
    home.run("start", "mine", "--name", "me", "--", "theirs", SYNAPSE_INITIAL_INSTRUCTIONS="auto")
    wait(lambda: "theirs|" in home.run("screen", "me").stdout, "its arguments")
    shown = home.run("screen", "me").stdout
    assert shown.startswith("--instructions|You are the agent 'me'") and "other (dummy)" in shown
    home.run(
        "start", "mine", "--name", "own", "--", "--instructions", "mine", SYNAPSE_INITIAL_INSTRUCTIONS="auto"
    )
    wait(lambda: "|mine|" in home.run("screen", "own").stdout, "its arguments")
    assert "You are the agent" not in home.run("screen", "own").stdout, "the user's own argument wins"
    for setting in ("off", "typed"):
        home.run("start", "mine", "--name", setting, "--", "theirs", SYNAPSE_INITIAL_INSTRUCTIONS=setting)
    wait(lambda: "theirs|" in home.run("screen", "typed").stdout, "its arguments")
    wait(lambda: "theirs|" in home.run("screen", "off").stdout, "its arguments")
    assert "--instructions" not in home.run("screen", "off").stdout
    assert "--instructions" not in home.run("screen", "typed").stdout


@pytest.mark.parametrize(("method", "setting"), [("typed", "auto"), ("message", "typed")])
def test_identity_typed_once_a_run(home: Home, method: str, setting: str) -> None:
    home.profile("typed", f"extends: dummy\ninstructions: {{method: {method}}}\n")
    home.run("start", "typed", "--name", "a", "--", "--tui", SYNAPSE_INITIAL_INSTRUCTIONS=setting)
    agent = Agent(home)
    tasks = agent.http.get("/tasks").json()["tasks"]
    assert [task["sender"]["name"] for task in tasks] == ["synapse-system"]
    done = agent.until(tasks[0]["id"])
    assert f"[A2A:{done['id'][:8]}:synapse-system] You are the agent 'a'" in done["artifacts"][0]["data"]
    assert "begins with [A2A:<task>:<sender>]" in " ".join(done["artifacts"][0]["data"].split())
    assert agent.reply("say more") == "more"
    agent.http.close()


@contextmanager
def told_by_message(home: Home, *arguments: str) -> Iterator[Agent]:
    home.profile("told", "extends: dummy\ninstructions: {method: message}\n")
    home.run("start", "told", "--name", "a", "--", *arguments, SYNAPSE_INITIAL_INSTRUCTIONS="auto")
    agent = Agent(home)
    with agent.http:
        yield agent


def prompts(agent: Agent) -> list[str]:
    turns: Any = control.call(agent.home.agents()["a"], "GET", "/turns")
    return [str(turn["prompt"]) for turn in turns["turns"]]


def test_identity_with_the_first_message_and_no_other(home: Home) -> None:
    with told_by_message(home, "--tui") as agent:
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
        assert agent.http.get("/tasks").json()["tasks"] == [] and prompts(agent) == []
        task = agent.until(agent.send("hello"))
        (prompt,) = prompts(agent)
        mark = f"[A2A:{task['id'][:8]}:user]"
        assert prompt.startswith(f"{mark} hello\n\n[synapse-system] You are the agent 'a'"), prompt
        assert task["state"] == "completed" and task["message"]["parts"][0]["text"] == "hello"
        (host,) = hosts(home)
        os.kill(host, signal.SIGKILL)
        wait(lambda: hosts(home) not in ([], [host]), "the next host")
        assert agent.reply("say more") == "more"
        assert "synapse-system" not in prompts(agent)[-1], "once a run, whichever host it has"
    home.run("stop", "a")
    with told_by_message(home, "--tui") as agent:
        agent.until(agent.send("hello"))
        assert "synapse-system" in prompts(agent)[-1], "the next run knows nothing"


def test_a_message_in_a_file_brings_them_too(home: Home) -> None:
    with told_by_message(home) as agent:
        text = "many\nlines"
        prompt = agent.reply(text)
        path = Path(prompt.partition("in the file ")[2].partition(" (")[0])
        assert path.read_text().startswith(f"{text} [synapse-system] You are the agent 'a'")
        assert "synapse-system" not in agent.reply(text)


def test_a_program_that_takes_a_line_gets_them_in_the_line_or_with_the_next_message(home: Home) -> None:
    with told_by_message(home) as agent:
        long = "x" * 900
        assert agent.reply(long).endswith(long), "they are no reason for a file"
        assert " hello [synapse-system] You are the agent 'a'" in agent.reply("hello")
        assert agent.reply("hello").endswith("] hello")
