"""The page with a real CLI on the scripted model: what it asks is answered there, and its reply is shown."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.real.clis import CLIS
from tests.real.install import NotInstalled, install
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import TOUCHED
from tests.support.home import new_home, wait
from tests.support.view_server import running_view
from tests.web.page import Page

PATIENCE = 60_000  # milliseconds


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm here")
def test_a_real_cli_is_sent_a_task_and_answered(chromium: Browser) -> None:
    try:
        installed = install()
    except NotInstalled as error:
        pytest.skip(str(error))
    with new_home() as home, ModelServer(speed=0) as model, running_view(home) as view:
        cli = CLIS["claude"](installed, home.path, home.work, model.url)
        own = {key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST")}
        started: dict[str, Any] = {**cli.env, **own, "SYNAPSE_INITIAL_INSTRUCTIONS": "off"}
        home.run("start", cli.program, "--", *cli.args, **started)
        wait(lambda: home.agents()["claude"]["status"] == "READY", "READY", 60)
        with Page.opened(chromium, view) as page:
            page.choose("claude")
            page.send("hello #scenario:tool")
            card = page.tab.locator(".question")
            expect(card).to_contain_text(TOUCHED, timeout=PATIENCE)
            assert not (home.work / TOUCHED).exists() and card.get_by_role("button").count() >= 2
            shown = home.run("screen", "claude").stdout.rstrip("\n")
            wait(lambda: page.text() == shown, "the text of `synapse screen`")
            assert page.faults() == []
            card.get_by_role("button").first.click()
            task = page.tab.locator(".task").last
            expect(task.locator(".state")).to_have_text("done", timeout=PATIENCE)
            expect(task.locator(".reply")).to_contain_text(expected("tool").split("\n")[0])
            assert (home.work / TOUCHED).exists()
            page.send("hello #scenario:tool")
            expect(card).to_contain_text(TOUCHED, timeout=PATIENCE)
            card.get_by_role("button").last.click()  # No
            expect(task.locator(".state")).to_have_text("denied", timeout=PATIENCE)
