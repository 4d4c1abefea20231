"""The page in a tab that sleeps, over a connection that died quietly, and with a clock that is wrong."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, WebSocketRoute, expect

from tests.support.home import Home, wait
from tests.support.view_server import View
from tests.web.page import PATIENCE, Page

HOUR = 3600


def asks(home: Home, name: str) -> bool:
    return bool(home.agents()[name]["status"] == "INPUT_REQUIRED")


def test_a_tab_that_slept_shows_what_is_true_now(page: Page, home: Home) -> None:
    page.choose("beta")
    page.wait_for_text("dummy>")
    lifecycle = page.tab.context.new_cdp_session(page.tab)
    lifecycle.send("Page.setWebLifecycleState", {"state": "frozen"})
    home.run("start", "dummy", "--name", "newcomer")
    home.run("send", "beta", "--return", "lines 3000")
    home.run("send", "gamma", "confirm Run `make clean`?")
    wait(lambda: asks(home, "gamma"), "a question")
    lifecycle.send("Page.setWebLifecycleState", {"state": "active"})
    expect(page.group("needs_you", "gamma")).to_contain_text("make clean", timeout=PATIENCE)
    expect(page.item("newcomer")).to_be_visible(timeout=PATIENCE)
    page.wait_for_text("line 3000")
    assert page.text().rstrip() == home.run("screen", "beta").stdout.rstrip()
    page.choose("gamma")
    page.tab.locator("button.option").filter(has_text="n").last.click()
    expect(page.tab.locator(".question")).to_be_hidden(timeout=PATIENCE)
    home.run("stop", "newcomer")
    expect(page.item("newcomer")).to_be_hidden(timeout=PATIENCE)


def test_a_connection_that_died_quietly_is_found_dead_when_the_page_is_looked_at(
    chromium: Browser, world: View
) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = Page(context.new_page(), world)
    dead: set[int] = set()
    joined: list[WebSocketRoute] = []

    def join(socket: WebSocketRoute) -> None:
        number, server = len(joined), socket.connect_to_server()
        joined.append(socket)
        socket.on_message(lambda text: None if number in dead else server.send(text))
        server.on_message(lambda text: None if number in dead else socket.send(text))

    page.tab.route_web_socket("**/ws", join)
    page.tab.goto(world.fresh())
    page.choose("beta")
    page.wait_for_text("dummy>")
    dead.add(0)
    page.tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.tab.locator(".toast").filter(has_text="Connected again.")).to_be_visible(timeout=PATIENCE)
    page.send("say after the sleep")
    page.wait_for_text("after the sleep")
    context.close()
    assert page.problems == []


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_clock_that_is_wrong_changes_no_age(chromium: Browser, world: View, ahead: int) -> None:
    home = world.home
    home.run("send", "gamma", "confirm Run `make install`?")
    wait(lambda: asks(home, "gamma"), "a question")
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(f"const now = Date.now; Date.now = () => now() + {1000 * ahead};")
    page = Page(context.new_page(), world)
    page.tab.goto(world.fresh())
    item = page.group("needs_you", "gamma")
    expect(item).to_be_visible(timeout=PATIENCE)
    assert "h" not in str(item.locator(".age").text_content()).split()
    page.choose("gamma")
    expect(page.tab.locator(".question")).to_be_visible(timeout=PATIENCE)
    page.tab.keyboard.press("2")
    expect(page.tab.locator(".question")).to_be_hidden(timeout=PATIENCE)
    context.close()
    assert page.problems == []
