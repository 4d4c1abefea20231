"""An agent of another machine on the page, over a real sshd."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.support.home import wait
from tests.support.sshd import PROGRAM, two_machines
from tests.support.view_server import running_view
from tests.web.page import PATIENCE, Page


@pytest.mark.skipif(PROGRAM is None, reason="there is no sshd (make sshd)")
def test_an_agent_of_another_machine_is_seen_and_sent_to_by_name(chromium: Browser) -> None:
    with two_machines() as sshd, running_view(sshd.here) as view:
        sshd.there.run("start", "dummy", "--name", "codex")
        sshd.here.run("start", "dummy", "--name", "alpha")
        sshd.here.run("machine", "add", "box", sshd.url)
        with Page.opened(chromium, view) as page:
            page.choose("codex@box")
            page.wait_for_text("dummy>")
            page.choose("alpha")
            field = page.tab.locator("#message")
            field.press_sequentially("@codex@b")
            expect(page.tab.get_by_role("option", name="codex@box")).to_be_visible()
            field.press("Tab")
            field.press_sequentially("choose keep|delete")
            field.press("Enter")
            expect(page.group("needs_you", "codex@box")).to_be_visible(timeout=PATIENCE)
            page.choose("codex@box")
            page.tab.locator(".question").get_by_role("button", name="delete").click()
            wait(lambda: "You chose: delete" in sshd.there.run("screen", "codex").stdout, "the answer")
