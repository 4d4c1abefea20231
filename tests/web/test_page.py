"""The page of `synapse view` in Chromium, with running reference agents."""

from __future__ import annotations

import os
import signal

import pytest
from playwright.sync_api import Browser, WebSocketRoute, expect

from synapse.terminal.cells import width
from tests.support.home import Home, hosts, new_home, wait
from tests.support.view_server import View, running_view
from tests.web.page import PATIENCE, PHONE, Page

TUI_LOOKS = (
    "bytes 1b5b313b33316d726564206f6e20626f6c641b5b6d20e6bca2e5ad97206566201b5b34346d20626c7565201b5b6d"
    "201b5d383b3b68747470733a2f2f782e6578616d706c652f611b5c6c696e6b1b5d383b3b1b5c20e2948ce29480e2949020e29c93"
)


def test_every_cell_is_where_the_terminal_has_it(page: Page, home: Home) -> None:
    page.choose("beta")
    page.send(TUI_LOOKS)
    page.wait_for_text("link")
    wait(lambda: home.agents()["beta"]["status"] == "READY", "READY")
    wait(
        lambda: page.text() == home.run("screen", "beta").stdout.rstrip("\n"),
        "the same text as `synapse screen`",
    )
    compared = 0
    for row in page.rows():
        column = 0
        for character, left, across in row["places"]:
            assert abs(left - column) < 0.05, (character, left, column, row["text"])
            column += max(width(character), 1)
            assert abs(left + across - column) < 0.05, (character, left, across, column)
            compared += 1
    assert compared > 50
    red = page.tab.locator(".rows .bold").filter(has_text="red on bold").last
    assert red.evaluate("e => getComputedStyle(e).fontWeight") == "700"
    assert red.evaluate("e => e.style.color") == "var(--c1)"
    link = page.tab.locator('.rows a[href="https://x.example/a"]').last
    assert link.get_attribute("rel") == "noopener noreferrer" and link.inner_text() == "link"


def test_a_message_streams_its_reply_as_markdown(page: Page) -> None:
    page.choose("alpha")
    page.send("markdown")
    task = page.tab.locator(".task").last
    expect(task.locator(".state")).to_have_text("done", timeout=PATIENCE)
    expect(task.locator(".reply table td").first).to_be_visible()
    expect(task.locator(".reply pre")).to_contain_text("def ")
    expect(task.locator("header")).to_contain_text("you→alpha")
    task.locator("summary").click()
    expect(task.locator(".receipts li").first).to_contain_text("queued")
    page.send("lines 30 every 0.2")
    running = page.tab.locator(".task").last
    expect(page.group("working", "alpha")).to_be_visible(timeout=PATIENCE)
    page.wait_for_text("line 3")
    running.get_by_role("button", name="Cancel").click()
    expect(running.locator(".state")).to_have_text("canceled", timeout=PATIENCE)


def test_a_message_for_a_name_that_no_agent_has_is_not_sent(page: Page, home: Home) -> None:
    """What is meant for one agent must not go to another; `@file.py` is no name."""
    page.choose("alpha")
    field, tasks = page.tab.locator("#message"), page.tab.locator(".task")
    field.fill("@nobody say hello")
    field.press("Enter")
    refusal = page.tab.locator(".toast.error").last
    expect(refusal).to_contain_text("no running agent is called nobody", timeout=PATIENCE)
    expect(refusal).to_contain_text("send it again to give it to alpha as it is")
    expect(field).to_have_value("@nobody say hello")
    assert "nobody" not in home.run("tasks", "alpha").stdout
    field.press("Enter")
    expect(field).to_have_value("", timeout=PATIENCE)
    expect(tasks.last.locator(".message")).to_have_text("@nobody say hello", timeout=PATIENCE)
    page.send("@notes.txt say what it has")
    expect(tasks.last.locator(".message")).to_have_text("@notes.txt say what it has", timeout=PATIENCE)
    field.fill("@beta ")
    field.press("Enter")
    expect(page.tab.locator(".toast.error").last).to_contain_text("no message behind @beta", timeout=PATIENCE)
    page.send("@all say all of you")
    everybody = ("alpha", "beta", "gamma")
    wait(lambda: all("say all of" in home.run("tasks", name).stdout for name in everybody), "all tasks")


def test_a_question_is_answered_with_its_own_options(page: Page) -> None:
    page.choose("gamma")
    page.send("choose red|green|blue")
    card = page.tab.locator(".question")
    expect(page.group("needs_you", "gamma")).to_be_visible(timeout=PATIENCE)
    expect(card.get_by_role("button")).to_have_count(3, timeout=PATIENCE)
    expect(page.tab).to_have_title("(1) Synapse")
    card.get_by_role("button", name="green").click()
    expect(card).to_be_hidden(timeout=PATIENCE)
    expect(page.tab.locator(".task").last.locator(".reply")).to_contain_text(
        "You chose: green", timeout=PATIENCE
    )


def test_a_digit_answers_only_a_question_that_is_seen(page: Page, home: Home) -> None:
    page.choose("gamma")
    page.send("choose red|green|blue")
    card = page.tab.locator(".question")
    expect(card.get_by_role("button")).to_have_count(3, timeout=PATIENCE)
    asked = home.run("questions", "--json").stdout
    page.tab.keyboard.press("Escape")
    page.tab.keyboard.press("g")
    expect(card).to_be_hidden(timeout=PATIENCE)
    page.tab.keyboard.press("1")
    page.tab.keyboard.press("g")
    expect(card).to_be_visible(timeout=PATIENCE)
    assert home.run("questions", "--json").stdout == asked
    page.tab.keyboard.press("3")
    expect(page.tab.locator(".task").last.locator(".reply")).to_contain_text(
        "You chose: blue", timeout=PATIENCE
    )
    expect(card).to_be_hidden(timeout=PATIENCE)


def test_the_end_of_the_tasks_stays_in_sight(page: Page) -> None:
    page.choose("gamma")
    for _ in range(3):
        page.send("choose red|green|blue")
        page.tab.locator(".question").get_by_role("button", name="red").click()
        last = page.tab.locator(".task").last
        expect(last.locator(".reply")).to_contain_text("You chose: red", timeout=PATIENCE)
        expect(last.locator("summary")).not_to_contain_text("now")
        expect(page.tab.locator(".question")).to_be_hidden(timeout=PATIENCE)
        expect(last.locator(".reply")).to_be_in_viewport(ratio=1, timeout=PATIENCE)
    thread = page.tab.locator(".thread")
    thread.evaluate("element => element.scrollTo(0, 0)")
    page.send("choose red|green|blue")
    expect(last).to_be_in_viewport(ratio=1, timeout=PATIENCE)
    thread.evaluate("element => element.scrollTo(0, 0)")
    page.tab.locator(".question").get_by_role("button", name="red").click()
    expect(last.locator(".reply")).to_contain_text("You chose: red", timeout=PATIENCE)
    assert thread.evaluate("element => element.scrollTop") == 0  # who reads above is left there


def test_a_secret_is_asked_for_in_a_field_that_hides_it(page: Page) -> None:
    page.choose("gamma")
    page.send("password")
    field = page.tab.locator(".question input[type=password]")
    field.fill("hunter2")
    field.press("Enter")
    expect(page.tab.locator(".task").last.locator(".reply")).to_contain_text("7 characters", timeout=PATIENCE)
    assert "hunter2" not in page.tab.content()


def test_keys_go_to_the_terminal_and_the_page_says_who_types(page: Page, home: Home) -> None:
    page.choose("beta")
    page.tab.get_by_role("button", name="Type into it").click()
    expect(page.tab.locator(".who")).to_have_text("You are typing into beta. Ctrl+] stops.")
    page.tab.keyboard.type("say it's 漢字 Enter")
    page.wait_for_text("dummy> say it's 漢字 Enter")
    page.tab.keyboard.press("Backspace")
    page.tab.keyboard.press("Enter")
    page.wait_for_text("it's 漢字 Entedummy>")  # the answer, and the next prompt
    page.tab.evaluate(
        """() => { const data = new DataTransfer(), field = document.querySelector('textarea.keys');
        data.setData('text/plain', 'say pasted text');
        field.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data})); }"""
    )
    page.wait_for_text("dummy> say pasted text")
    page.tab.keyboard.press("Control+c")
    page.tab.keyboard.press("Control+]")
    expect(page.tab.get_by_role("button", name="Type into it")).to_be_focused()
    home.run("keys", "beta", "x", "BSpace")
    expect(page.tab.locator(".who")).to_contain_text("is typing into beta", timeout=PATIENCE)


def test_scrollback_is_loaded_and_stays_in_place(page: Page) -> None:
    page.choose("gamma")
    page.send("lines 400")
    page.wait_for_text("line 400")
    above = page.tab.locator("button.more")
    expect(above).to_be_visible()
    above.click()
    expect(page.tab.locator(".history .row").filter(has_text="line 300").first).to_be_attached(
        timeout=PATIENCE
    )
    shown = page.tab.locator(".history .row, .rows .row").all_inner_texts()
    lines = [int(text.split()[1]) for text in shown if text.startswith("line ")]
    assert lines[-101:] == list(range(300, 401))


def test_at_completes_names_and_sends_to_another(page: Page) -> None:
    page.choose("alpha")
    field = page.tab.locator("#message")
    field.press_sequentially("@be")
    expect(page.tab.get_by_role("option", name="beta")).to_be_visible()
    field.press("Tab")
    expect(field).to_have_value("@beta ")
    field.press_sequentially("say from the page")
    page.tab.get_by_label("Priority").select_option("3")
    page.tab.get_by_label("tell me when it answers").check()
    field.press("Enter")
    expect(page.tab.locator(".toast").filter(has_text="beta: the reply is there.")).to_be_visible(
        timeout=PATIENCE
    )
    page.tab.locator("#tab-timeline").click()
    line = page.tab.locator(".timeline li").first
    expect(line).to_contain_text("you→beta")
    line.locator("button").click()
    expect(page.tab.locator(".task").last).to_contain_text("priority 3")


def test_a_message_is_sent_once_and_other_drafts_stay(page: Page, home: Home) -> None:
    field = page.tab.locator("#message")
    page.choose("alpha")
    (host,) = hosts(home, "alpha")
    os.kill(host, signal.SIGSTOP)
    try:
        field.fill("say only once")
        field.press("Enter")
        expect(page.tab.get_by_role("button", name="Sending …")).to_be_disabled()
        field.press("Enter")
        page.choose("beta")
        expect(page.tab.get_by_role("button", name="Send", exact=True)).to_be_enabled()
        field.fill("a draft for beta")
    finally:
        os.kill(host, signal.SIGCONT)
    page.item("alpha").click()
    sent = page.tab.locator(".task").filter(has_text="say only once")
    expect(sent.locator(".reply")).to_have_text("only once", timeout=PATIENCE)
    expect(field).to_have_value("", timeout=PATIENCE)
    assert sent.count() == 1
    page.choose("beta")
    expect(field).to_have_value("a draft for beta")
    field.fill("")


def test_agents_come_and_go_and_a_replaced_host_is_found(page: Page, home: Home) -> None:
    home.run("start", "dummy", "--name", "delta")
    expect(page.item("delta")).to_be_visible(timeout=PATIENCE)
    page.choose("delta")
    page.wait_for_text("dummy>")
    (host,) = hosts(home, "delta")
    os.kill(host, signal.SIGKILL)
    wait(lambda: hosts(home, "delta") not in ([], [host]), "the next host")
    page.tab.locator("button.type").click()
    wait(lambda: _typed(page), "keys reach the next host")
    os.kill(int(str(home.agents()["delta"]["pid"])), signal.SIGKILL)
    expect(page.item("delta")).to_have_count(0, timeout=PATIENCE)
    expect(page.tab.locator(".toast").filter(has_text="delta has ended.")).to_be_visible()


@pytest.mark.parametrize("into", ["#message", ".terminal textarea"])
def test_what_is_typed_when_an_agent_ends_goes_to_no_other(page: Page, home: Home, into: str) -> None:
    home.run("keys", "gamma", "choose red|green", "Enter")
    expect(page.group("needs_you", "gamma")).to_be_visible(timeout=PATIENCE)
    wait(lambda: "red" in home.run("questions", "--json").stdout, "the question")
    asked = home.run("questions", "--json").stdout
    home.run("start", "dummy", "--name", "delta")
    page.choose("delta")
    page.wait_for_text("dummy>")
    page.tab.locator(into).focus()
    page.tab.keyboard.type("open the wi")
    os.kill(int(str(home.agents()["delta"]["pid"])), signal.SIGKILL)
    expect(page.item("delta")).to_have_count(0, timeout=PATIENCE)
    page.tab.keyboard.type("ndow 1 and 2")
    page.tab.keyboard.press("Enter")
    expect(page.tab.get_by_text("Choose an agent.")).to_be_visible()
    assert home.run("questions", "--json").stdout == asked
    page.choose("gamma")
    expect(page.tab.locator("#message")).to_have_value("")
    page.tab.locator(".question").get_by_role("button", name="red").click()
    expect(page.tab.locator(".question")).to_be_hidden(timeout=PATIENCE)


def _typed(page: Page) -> bool:
    page.tab.keyboard.press("z")
    page.tab.wait_for_timeout(300)
    return "dummy> z" in page.text()


def test_start_and_stop_with_the_keyboard_alone(page: Page, home: Home) -> None:
    tab = page.tab
    tab.locator("#start").focus()
    tab.keyboard.press("Enter")
    tab.get_by_label("Profile").select_option("dummy")
    tab.get_by_role("textbox", name="Name").fill("epsilon")
    tab.keyboard.press("Enter")
    expect(page.item("epsilon")).to_be_visible(timeout=PATIENCE)
    expect(tab.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
    tab.keyboard.press("j")
    for _ in range(8):
        if tab.evaluate("document.activeElement.textContent").startswith("epsilon"):
            break
        tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    expect(tab.locator(".agent-name")).to_have_text("epsilon")
    tab.keyboard.press("m")
    tab.keyboard.type("confirm Go on?")
    tab.keyboard.press("Enter")
    expect(tab.locator(".question button")).to_have_count(2, timeout=PATIENCE)
    tab.keyboard.press("Escape")
    tab.keyboard.press("1")
    expect(tab.locator(".task").last.locator(".reply")).to_contain_text("Confirmed.", timeout=PATIENCE)
    tab.keyboard.press("t")
    tab.keyboard.type("say typed")
    page.wait_for_text("dummy> say typed")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Control+]")
    tab.get_by_role("button", name="Stop", exact=True).focus()
    tab.keyboard.press("Enter")
    tab.get_by_role("dialog").get_by_role("button", name="Stop").focus()
    tab.keyboard.press("Enter")
    expect(page.item("epsilon")).to_have_count(0, timeout=PATIENCE)
    assert "epsilon" not in home.agents()


def test_a_resize_of_the_agent_is_followed(page: Page, home: Home) -> None:
    with home.terminal("dummy", "--name", "zeta", cols=90, rows=20) as terminal:
        terminal.wait_for("dummy>")
        expect(page.item("zeta")).to_be_visible(timeout=PATIENCE)
        page.choose("zeta")
        expect(page.tab.locator(".rows .row")).to_have_count(20, timeout=PATIENCE)
        terminal.resize(100, 31)
        expect(page.tab.locator(".rows .row")).to_have_count(31, timeout=PATIENCE)
        page.tab.set_viewport_size({"width": 700, "height": 700})  # the browser's size changes nothing there
        page.wait_for_text("dummy>")
        assert (terminal.screen.size, len(page.rows())) == ((100, 31), 31)
        terminal.type("/exit\r")
        expect(page.item("zeta")).to_have_count(0, timeout=PATIENCE)


def test_a_phone(chromium: Browser, world: View) -> None:
    with Page.opened(chromium, world, PHONE, has_touch=True) as page:
        assert page.faults() == []
        expect(page.tab.locator("main")).to_be_hidden()
        bar = page.tab.locator(".bar").bounding_box()
        assert bar is not None and bar["height"] < 50, "the bar takes two lines"
        page.item("beta").tap()
        page.wait_for_text("dummy>")
        assert page.faults() == []
        page.tab.get_by_role("button", name="Back to the agents").tap()
        expect(page.item("beta")).to_be_visible()
        page.tab.locator("#tab-timeline").tap()
        assert page.faults() == []


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_names_and_contrast(chromium: Browser, world: View, scheme: str) -> None:
    with Page.opened(chromium, world, color_scheme=scheme) as page:
        page.choose("gamma")
        page.send("confirm Delete `build`?")
        expect(page.tab.locator(".question button")).to_have_count(2, timeout=PATIENCE)
        assert page.faults() == []
        page.tab.keyboard.press("Escape")
        page.tab.keyboard.press("?")
        assert page.faults() == []
        page.tab.get_by_role("dialog").get_by_role("button", name="Close").click()
        page.tab.keyboard.press("2")
        expect(page.tab.locator(".question")).to_be_hidden(timeout=PATIENCE)
        page.tab.locator("#tab-timeline").click()
        assert page.faults() == []


def test_a_lost_connection_heals_and_says_so(chromium: Browser, world: View) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = Page(context.new_page(), world)
    sockets: list[WebSocketRoute] = []

    def join(socket: WebSocketRoute) -> None:
        if len(sockets) == 1:
            sockets.append(socket)
            socket.close()  # the first attempt to connect again fails
        else:
            socket.connect_to_server()
            sockets.append(socket)

    page.tab.route_web_socket("**/ws", join)
    page.tab.goto(world.fresh())
    page.choose("beta")
    page.wait_for_text("dummy>")
    sockets[0].close()
    expect(page.tab.locator("#connection")).to_contain_text("is lost", timeout=PATIENCE)
    expect(page.tab.locator(".toast").filter(has_text="Connected again.")).to_be_visible(timeout=PATIENCE)
    expect(page.tab.locator("#connection")).to_be_empty()
    page.send("say after the pause")
    page.wait_for_text("after the pause")
    context.close()


def test_a_view_that_was_started_again_says_what_to_do(chromium: Browser) -> None:
    with new_home() as home:
        home.run("start", "dummy", "--name", "a")
        with running_view(home) as view:
            port = view.base.rpartition(":")[2]
            page = Page(chromium.new_context().new_page(), view)
            page.tab.goto(view.fresh())
            expect(page.item("a")).to_be_visible(timeout=PATIENCE)
        with running_view(home, "--port", port):
            expect(page.tab.locator("#connection")).to_contain_text("synapse view --url", timeout=PATIENCE)
        page.tab.context.close()


def test_a_run_is_above_the_tasks_with_its_steps(page: Page, home: Home) -> None:
    home.run("start", "dummy", "--name", "runner")
    (home.work / "one.py").write_text('from synapse.run import ask\nask("runner", "say <b>one</b>")\n')
    home.run("run", "--run", "mine", "one.py")
    page.tab.get_by_role("tab", name="Timeline").click()
    shown = page.tab.get_by_role("region", name="Runs")
    expect(shown.locator("summary")).to_have_text("mine · completed · 1 of 1 steps", timeout=PATIENCE)
    expect(shown.locator("ol li")).to_contain_text("1  runner · completed")
    expect(shown.locator("ol li")).to_contain_text("say <b>one</b>")
    home.run("stop", "runner")


def test_a_run_is_canceled(page: Page, home: Home) -> None:
    home.run("start", "dummy", "--name", "runner")
    (home.work / "wait.py").write_text('from synapse.run import ask\nask("runner", "honour 600")\n')
    with home.terminal("run", "--run", "wait", "wait.py") as run:
        run.wait_for("runner: asked")
        page.tab.get_by_role("tab", name="Timeline").click()
        step = page.tab.get_by_role("region", name="Runs").locator("ol li")
        expect(step).to_be_visible(timeout=PATIENCE)  # beside the button
        box = step.bounding_box()
        assert box is not None and box["width"] > 600
        page.tab.get_by_role("button", name="Cancel the run wait").click(timeout=PATIENCE)
        page.tab.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        shown = page.tab.get_by_role("region", name="Runs")
        canceled = shown.get_by_text("wait · canceled · 0 of 1 steps")
        expect(canceled).to_be_visible(timeout=PATIENCE)
        expect(shown.get_by_role("button", name="Cancel the run wait")).to_be_hidden()
        assert run.wait_exit() != 0
    home.run("stop", "runner")
