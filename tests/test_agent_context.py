"""What an agent is told about the others, and how it gets it."""

from __future__ import annotations

import json
import os
import sys

from synapse.agent_context import build_instructions
from tests.support.home import Home, wait
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
    shell = 'printf "%s|" "$@"; read line'
    home.profile("mine", f"command: [sh, -c, {json.dumps(shell)}, sh]\n" + SAY_ARGUMENTS.split("\n", 1)[1])
    home.run("start", "dummy", "--name", "other")
    home.run("start", "mine", "--name", "me", "--", "theirs")
    wait(lambda: "theirs|" in home.run("screen", "me").stdout, "its arguments")
    shown = home.run("screen", "me").stdout
    assert shown.startswith("--instructions|You are the agent 'me'") and "other (dummy)" in shown
    home.run("start", "mine", "--name", "own", "--", "--instructions", "mine")
    wait(lambda: "|mine|" in home.run("screen", "own").stdout, "its arguments")
    assert "You are the agent" not in home.run("screen", "own").stdout, "the user's own argument wins"
    home.run("start", "mine", "--name", "off", SYNAPSE_INITIAL_INSTRUCTIONS="off")
    wait(lambda: home.agents()["off"], "it")
    assert "You are the agent" not in home.run("screen", "off").stdout


def test_identity_typed_once_a_run(home: Home) -> None:
    home.profile("typed", "extends: dummy\ninstructions: {method: typed}\n")
    home.run("start", "typed", "--name", "a", "--", "--tui")
    agent = Agent(home)
    tasks = agent.http.get("/tasks").json()["tasks"]
    assert [task["sender"]["name"] for task in tasks] == ["synapse-system"]
    done = agent.until(tasks[0]["id"])
    assert f"[A2A:{done['id'][:8]}:synapse-system] You are the agent 'a'" in done["artifacts"][0]["data"]
    assert "begins with [A2A:<task>:<sender>]" in " ".join(done["artifacts"][0]["data"].split())
    assert agent.reply("say more") == "more"
    agent.http.close()
