"""The CLIs ask before they call a tool of an MCP server: the question says which one, and with what."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.real import mcp_server
from tests.real.clis import Cli
from tests.real.mcp_server import ARGUMENTS, LONG_ARGUMENTS, RESULT, SERVER, TAKEN, TOOL
from tests.real.model_server import ModelServer
from tests.real.wrapped import ENDED, Agent, Sender
from tests.support.home import Home

PLACES = {"claude": ".claude.json", "gemini": ".gemini/settings.json", "copilot": ".copilot/mcp-config.json"}
MORE: dict[str, dict[str, object]] = {"copilot": {"type": "local", "tools": ["*"]}}


def configure(cli: Cli, home: Home) -> None:
    """Put the server into the CLI's own configuration."""
    command, args = sys.executable, [mcp_server.__file__, str(home.work)]
    if cli.name == "codex":
        with (home.path / ".codex" / "config.toml").open("a") as file:
            file.write(
                f"[mcp_servers.{SERVER}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
            )
        return
    path = home.path / PLACES[cli.name]
    settings = json.loads(path.read_text()) if path.exists() else {}
    settings["mcpServers"] = {SERVER: {"command": command, "args": args, **MORE.get(cli.name, {})}}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))


pytestmark = pytest.mark.shared(prepare=configure)


def taken(home: Home) -> object:
    path: Path = home.work / TAKEN
    return json.loads(path.read_text()) if path.exists() else None


def test_the_question_names_server_tool_and_arguments(agent: Agent, home: Home, model: ModelServer) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:mcp")
    prompt = sender.until(task, "input_required", *ENDED)["prompt"]
    for part in (SERVER, TOOL, *ARGUMENTS.values()):
        assert part in prompt["subject"] and part in prompt["text"], prompt
    assert all(value in prompt["detail"] for value in ARGUMENTS.values()), prompt
    assert len(prompt["options"]) >= 3 and "unseen" not in prompt, prompt
    assert taken(home) is None
    sender.answer(task, "1")
    assert sender.until(task)["artifacts"][0]["data"] == f"MCP-DONE: {RESULT}"
    assert taken(home) == ARGUMENTS


def test_by_the_label_of_its_option_it_is_denied(agent: Agent, home: Home, model: ModelServer) -> None:
    """Codex then tells its model, which ends the turn; the others stop."""
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:mcp")
    options = sender.until(task, "input_required", *ENDED)["prompt"]["options"]
    sender.answer(task, next(option for option in options if option.startswith(("No", "Cancel"))))
    done = sender.until(task)
    assert taken(home) is None
    if agent.cli.name == "codex":
        assert done["artifacts"][0]["data"] == "MCP-DONE: no", done
    else:
        assert (done["state"], (done.get("error") or {}).get("code")) == ("canceled", "DENIED"), done
        assert SERVER in done["error"]["message"] and TOOL in done["error"]["message"], done


def test_long_arguments_are_told_whole_or_said_to_be_cut(
    agent: Agent, home: Home, model: ModelServer
) -> None:
    sender = Sender(agent, home)
    task = sender.send("hello #scenario:mcp-long")
    prompt = sender.until(task, "input_required", *ENDED)["prompt"]
    assert SERVER in prompt["subject"] and TOOL in prompt["subject"], prompt
    if agent.cli.name == "gemini":  # it tells nobody before the human has answered
        assert "does not show all of what it would run" in prompt["text"]
    else:
        assert LONG_ARGUMENTS["line"] in prompt["detail"] and "unseen" not in prompt, prompt
    agent.driver.type("\x1b")
    sender.until(task)
    assert taken(home) is None
