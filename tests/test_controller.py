"""TerminalController in scripts: the reference agent in a real terminal and in the background."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from synapse.controller import TerminalController
from synapse.errors import ProfileError, SynapseError
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from tests.support.home import Home, wait
from tests.support.running import start

DUMMY = [sys.executable, "-P", "-m", "synapse.dummy_agent"]
INTERACTIVE = """
import signal, sys
from synapse.controller import TerminalController
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
controller = TerminalController(sys.argv[1:], idle_regex=r"^dummy> *$", name="mine")
heard = []
controller.add_output_callback(heard.append)
status = controller.run_interactive()
same = before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
said = "good day" in "".join(heard)
print("status", status, "running", controller.running, "handlers", same, "heard", said)
"""
SCRIPT = [sys.executable, "-P", "-c", INTERACTIVE]


@pytest.fixture
def controller(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[TerminalController]:
    for key in ("HOME", "PATH", "SYNAPSE_TEST"):
        monkeypatch.setenv(key, home.env[key])
    monkeypatch.chdir(home.work)
    made = TerminalController(DUMMY, idle_regex=r"^dummy> *$", name="mine")
    yield made
    made.stop()


def test_in_the_background(home: Home, controller: TerminalController) -> None:
    assert not controller.running and controller.status == PROCESSING
    with pytest.raises(SynapseError, match="call start"):
        controller.write("hello", "\r")
    controller.start()
    assert controller.running and home.agents()["mine"]["port"] >= 8200
    wait(lambda: controller.status == READY, "READY")
    controller.write("say good day", "\r")
    wait(lambda: "good day\ndummy>" in controller.get_context(), "the reply")
    assert controller.get_context(8) in controller.output_buffer
    controller.write("confirm Go on?", "\r")
    wait(lambda: controller.status == INPUT_REQUIRED, INPUT_REQUIRED)
    prompt = controller.input_detector.detect(controller.get_context())
    assert prompt is not None and prompt.input_type == "confirmation"
    controller.write("y\r")
    wait(lambda: "Confirmed." in controller.output_buffer and controller.status == READY, "the end of it")
    controller.write("lines 600 every 0.1", "\r")
    wait(lambda: controller.status == PROCESSING, PROCESSING)
    wait(lambda: "line 2" in controller.output_buffer, "its work")  # before that, Ctrl-C takes the line back
    controller.interrupt()
    wait(lambda: "interrupted" in controller.output_buffer, "an interrupt")
    with pytest.raises(SynapseError, match="runs already"):
        controller.start()
    controller.stop()
    assert not controller.running and controller.status == PROCESSING and "mine" not in home.agents()
    assert controller.process is not None and controller.process.returncode is not None


def test_output_callbacks_get_the_output_as_text_and_can_be_removed(controller: TerminalController) -> None:
    heard: list[str] = []
    later: list[str] = []
    controller.add_output_callback(lambda text: heard[-1000])  # it fails, and the next one is called anyway
    controller.add_output_callback(heard.append)
    controller.start()
    controller.write("say こんにちは", "\r")
    wait(lambda: "\nこんにちは" in "".join(heard).replace("\r", ""), "the reply")
    controller.remove_output_callback(heard.append)
    controller.add_output_callback(later.append)
    before = len(heard)
    controller.write("say more", "\r")
    wait(lambda: "\nmore" in "".join(later).replace("\r", ""), "the next reply")
    assert len(heard) == before
    controller.remove_output_callback(heard.append)  # a second time does no harm
    controller.stop()
    wait(lambda: not any("_monitor_output" in t.name for t in threading.enumerate()), "the thread's end")


def test_a_line_for_another_agent_leaves_the_composer_and_its_reply_is_shown(
    home: Home, controller: TerminalController, capsys: pytest.CaptureFixture[str]
) -> None:
    with start(home):
        controller.start()
        wait(lambda: controller.status == READY, "READY")
        controller.handle_stdin(b"say mine\r")
        wait(lambda: "mine\ndummy>" in controller.get_context(), "its own line")
        controller.handle_stdin(b"@a say yours\r")
        assert capsys.readouterr().out == "[→ a (local)]\n[← a] yours\n"
        controller.handle_stdin(b"@a --non-response say this\r")
        assert capsys.readouterr().out == "[→ a (local)]\n"
        assert controller.send_to_agent("a", "say again", want_response=True)
        assert controller.input_router.last_response == "again"
        assert not controller.send_to_agent("nobody", "hello")
        controller.handle_stdin(b"say after\r")
        wait(lambda: "dummy> say after\nafter\ndummy>" in controller.get_context(), "an empty composer")
        controller.write_feedback("[Sent to a]\n")
        assert capsys.readouterr().out == "[Sent to a]\n"


def test_in_this_terminal(home: Home) -> None:
    with home.program([*SCRIPT, *DUMMY], 100) as terminal:
        terminal.wait_for("dummy>")
        wait(lambda: home.agents().get("mine", {}).get("status") == READY, "READY")
        terminal.type("say good day\r")
        terminal.wait_for("good day\ndummy>")
        assert home.run("send", "mine", "--return", "say hello").stdout.strip() == "hello"
        terminal.type("exit 3\r")
        terminal.wait_for("status 3 running False handlers True heard True")
        assert terminal.wait_exit() == 0
    assert home.agents() == {}


def test_in_this_terminal_a_line_for_another_agent_is_sent(home: Home) -> None:
    with start(home) as other, home.program([*SCRIPT, *DUMMY], 100) as terminal:
        terminal.wait_for("dummy>")
        wait(lambda: home.agents().get("mine", {}).get("status") == READY, "READY")
        deadline = time.monotonic() + 20
        while not (tasks := other.http.get("/tasks").json()["tasks"]):  # until the relay knows the other one
            assert time.monotonic() < deadline, terminal.screen.text()
            terminal.type("@a --no-wait say hello\r")
            terminal.pump(0.5)
        assert tasks[-1]["message"]["parts"][0]["text"] == "say hello"
        assert tasks[-1]["sender"]["name"] == "mine"
        terminal.type("\x15exit\r")
        terminal.wait_for("status 0 running False")


def test_without_a_terminal_it_runs_all_the_same(home: Home) -> None:
    without = ["/bin/sh", "-c", 'exec "$@" < /dev/null', "sh"]
    with home.program([*without, *SCRIPT, *DUMMY], 100) as terminal:
        wait(lambda: home.agents().get("mine", {}).get("status") == READY, "READY")
        assert home.run("send", "mine", "--return", "say hello").stdout.strip() == "hello"
        home.run("send", "mine", "--no-wait", "exit 4")
        terminal.wait_for("status 4 running False")


def test_a_profile_or_a_command_that_cannot_be_run() -> None:
    assert TerminalController("dummy").command == "dummy"
    with pytest.raises(SynapseError, match="no command"):
        TerminalController("")
    with pytest.raises(ProfileError, match="name of a variable"):
        TerminalController("cat", env={"A=": "1"})


def test_a_command_that_is_not_there_is_said(home: Home, controller: TerminalController) -> None:
    with pytest.raises(SynapseError, match="not installed"):
        TerminalController("no-such-agent-anywhere").start()
    with pytest.raises(SynapseError, match="status 7"):
        TerminalController(["sh", "-c", "exit 7"]).start()
    assert home.agents() == {}


def test_a_token_of_the_environment_is_asked_for(
    controller: TerminalController, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNAPSE_TOKEN", "a-token-of-the-script")
    controller.start()
    assert controller.entry is not None
    url = f"{controller.entry['endpoint']}/status"
    assert httpx.get(url).status_code == 401
    assert httpx.get(url, headers={"Authorization": "Bearer a-token-of-the-script"}).status_code == 200
    controller.write("env SYNAPSE_TOKEN", "\r")
    wait(lambda: controller.get_context().count("dummy>") > 1, "the answer")
    assert "a-token" not in controller.output_buffer, "the agent does not inherit it"
