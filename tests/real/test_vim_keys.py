"""Claude Code with the keys of vim."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from synapse.registry import READY
from tests.real.clis import Cli
from tests.real.model_server import ModelServer
from tests.real.wrapped import Sender, wrapped
from tests.support.home import Home

DRAFT = "delete the idea of it"


@pytest.mark.parametrize("cli", ["claude"], indirect=True)
def test_a_draft_comes_back_in_normal_mode(cli: Cli, home: Home, model: ModelServer) -> None:
    for path in (home.path / ".claude.json", home.path / ".claude" / "settings.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "editorMode": "vim"}))
    with wrapped(replace(cli, ready="-- INSERT --"), home, SYNAPSE_INITIAL_INSTRUCTIONS="off") as agent:
        driver = agent.driver
        driver.type(DRAFT)
        driver.wait_for(DRAFT)
        driver.type("\x1b")
        driver.wait(lambda: "-- INSERT --" not in driver.screen.text(), "the normal mode", 10)
        sender = Sender(agent, home)
        done = sender.until(sender.send("hello #scenario:ping 5"))
        assert done["artifacts"][0]["data"] == "PONG-5", done
        driver.wait(lambda: agent.why["composer"]["text"] == DRAFT, "the draft", 20)
        agent.until(READY)
