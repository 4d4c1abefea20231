"""CLIs that are not logged in, or whose key is refused: the sender is told, and nothing is typed blindly."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.real.clis import Cli
from tests.real.model_server import ModelServer
from tests.real.wrapped import start
from tests.support.home import Home, wait

KEYS = ("ANTHROPIC_API_KEY", "SCRIPTED_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "COPILOT_")
FAILS = {
    "claude": "Not logged in",
    "codex": "Missing environment variable",
    "copilot": "You must be logged in",
    "aider": "AuthenticationError",
}
ASKS = {"gemini": "Enter Gemini API Key", "qwen": "Connect a Provider"}
PATIENCE = 90.0


def without_login(cli: Cli) -> Cli:
    kept = {key: value for key, value in cli.env.items() if not key.startswith(KEYS)}
    if "COPILOT_PKG_CACHE_HOME" in cli.env:
        kept["COPILOT_PKG_CACHE_HOME"] = cli.env["COPILOT_PKG_CACHE_HOME"]
    return replace(cli, env=kept)


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini", "copilot", "qwen", "aider"], indirect=True)
def test_a_key_that_is_refused(cli: Cli, home: Home, model: ModelServer) -> None:
    start(home, cli)
    done = home.run("send", cli.name, "--return", "hello #scenario:error401", check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "has not done it: failed," in done.stderr and "401" in done.stderr
    [task] = json.loads(home.run("tasks", "--json").stdout)
    assert task["error"]["code"] == "LOGIN_REQUIRED", task["error"]


@pytest.mark.parametrize("cli", FAILS, indirect=True)
def test_without_a_login_the_task_fails_with_the_reason(cli: Cli, home: Home, model: ModelServer) -> None:
    start(home, without_login(cli))
    done = home.run("send", cli.name, "--return", "hello", check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert FAILS[cli.name] in done.stderr, done.stderr


@pytest.mark.parametrize("cli", ASKS, indirect=True)
def test_at_the_question_for_a_login_nothing_is_typed(cli: Cli, home: Home, model: ModelServer) -> None:
    """And the sender is told what it asks."""
    start(home, without_login(cli))

    def note() -> str:
        [found] = json.loads(home.run("tasks", "--json").stdout)
        assert [receipt["step"] for receipt in found["receipts"]] == ["queued"], found
        return str(found.get("note"))

    home.run("send", cli.name, "--no-wait", "hello")
    wait(lambda: ASKS[cli.name] in note(), "the reason", PATIENCE)
    assert ASKS[cli.name] in home.run("questions").stdout
    assert ASKS[cli.name] in home.run("screen", cli.name).stdout
