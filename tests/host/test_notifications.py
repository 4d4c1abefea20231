"""Notifications: the command gets the event, the terminal a sequence, and a toast shows what others ask."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from synapse.config import DEFAULTS, unpack_settings
from synapse.host import notifications
from synapse.host.notifications import terminal_notification
from synapse.messages.inbox import Inbox
from synapse.peers.questions import QuestionWatch
from synapse.registry import AgentRegistry
from synapse.watch.turns import Turn
from tests.support.home import Home, wait


def settings(home: Home, text: str) -> None:
    (home.path / "synapse").mkdir(exist_ok=True)
    (home.path / "synapse" / "config.yaml").write_text(text)


def noting(home: Home) -> tuple[list[str], Path]:
    """A command that appends what it reads to a file."""
    told = home.path / "told"
    script = home.path / "note.py"
    script.write_text("import sys\nopen(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')\n")
    return [sys.executable, str(script), str(told)], told


def events(told: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []


def test_a_command_gets_each_event_as_json(home: Home) -> None:
    command, told = noting(home)
    settings(home, f"notify: {{command: {json.dumps(command)}, finished_after: 0}}\n")
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    home.run("keys", "a", "confirm $(touch /tmp/never) `id`?", "Enter")
    wait(lambda: events(told), "the question")
    asked = events(told)[0]
    assert asked["event"] == "question" and asked["agent"] == "a"
    question = asked["question"]
    assert isinstance(question, dict) and "$(touch /tmp/never) `id`?" in question["text"]
    home.run("answer", str(question["id"]), "n")
    wait(lambda: len(events(told)) > 1, "the end of the turn")
    finished = events(told)[1]
    assert finished["event"] == "finished" and finished["reply"] == "Declined."


def test_only_the_events_that_are_wanted_and_a_missing_command_harms_nothing(home: Home) -> None:
    settings(home, "notify: {command: [/no/such/program], events: [question]}\n")
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    home.run("keys", "a", "confirm Go?", "Enter")
    wait(lambda: "notify.command cannot be run" in home.log("a"), "the log")
    (question,) = json.loads(home.run("questions", "--json").stdout)
    home.run("answer", question["id"], "y")
    assert "hello" in home.run("send", "a", "--return", "hello").stdout
    assert home.log("a").count("notify.command") == 1, "the end of a turn is not wanted"


def test_the_terminal_gets_a_notification_and_nothing_else_changes(home: Home) -> None:
    settings(home, "notify: {terminal: true, events: [question]}\n")
    with home.terminal("dummy", "--name", "a", "--", "--tui") as terminal:
        terminal.wait_for("? for shortcuts")
        terminal.type("choose keep|delete\r")
        terminal.wait_for("delete")
        terminal.wait(lambda: b"\x1b]9;a asks: Choose one:\x07" in terminal.raw, "the sequence")
        assert terminal.raw.count(b"\x1b]9;") == 1
        terminal.type("1")
        terminal.wait_for("You chose: keep")


def test_what_another_agent_asks_is_shown_here_and_answered_in_the_panel(home: Home) -> None:
    settings(home, "notify: {toast: true}\n")
    home.run("start", "dummy", "--name", "b", "--", "--tui")
    with home.terminal("dummy", "--name", "a", "--", "--tui") as terminal:
        terminal.wait_for("? for shortcuts")
        home.run("keys", "b", "choose keep|delete", "Enter")
        terminal.wait_for("? b: asks")
        terminal.type("\x1do")
        terminal.wait_for("2. delete")
        terminal.type("a2\r")
        wait(lambda: "You chose: delete" in home.run("screen", "b").stdout, "the answer")
        terminal.type("q")
        terminal.wait_until_gone("b · asks")
        home.run("keys", "b", "confirm Go?", "Enter")
        terminal.wait_for("? b: asks")
        home.run("keys", "b", "n")
        terminal.wait_until_gone("? b: asks")  # answered there


@pytest.mark.parametrize(
    ("env", "made"),
    [
        ({"TERM": "xterm-256color"}, b"\x1b]9;a asks: rm -r x, y\x07"),
        ({"TERM": "foot"}, b"\x1b]777;notify;a;asks: rm -r x, y\x07"),
        ({"TERM": "xterm", "VTE_VERSION": "7600"}, b"\x1b]777;notify;a;asks: rm -r x, y\x07"),
        ({"TERM": "tmux", "TMUX": "/tmp/x"}, b"\x1bPtmux;\x1b\x1b]9;a asks: rm -r x, y\x07\x1b\\"),
    ],
)
def test_a_sequence_carries_text_only(env: dict[str, str], made: bytes) -> None:
    assert terminal_notification("a", "asks: rm -r x;\x07\x1b[31m\n y", env) == made


def test_a_long_text_is_cut() -> None:
    sent = terminal_notification("a", "asks: " + "x" * 5000, {})
    assert len(sent) < 300 and re.fullmatch(rb"\x1b\]9;a asks: x+\x07", sent)


def test_commands_are_bounded_in_number_and_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(notifications, "TIMEOUT", 0.2)
    pids = tmp_path / "pids"
    command = ["/bin/sh", "-c", f'echo $$ >> "{pids}"; sleep 600']
    settings = unpack_settings(DEFAULTS | {"notify.command": command, "notify.finished_after": 0})

    async def main() -> None:
        made = notifications.Notifications(
            agent="a",
            settings=settings.notify,
            inbox=Inbox(),
            typed_ago=lambda: 60.0,
            tell_terminal=lambda _: None,
            watch=QuestionWatch(AgentRegistry(tmp_path)),
            changed=lambda: None,
        )
        for number in range(6):
            made.turn_ended(Turn(number, 0.0, ended_at=5.0, outcome="completed"))
        while len(caplog.records) < 6 or made._running:
            await asyncio.sleep(0.01)
        await made.close()

    asyncio.run(main())
    said = [record.getMessage() for record in caplog.records]
    assert sum("4 run already" in line for line in said) == 2
    assert sum("was killed" in line for line in said) == 4
    left = pids.read_text().split() if pids.exists() else []
    wait(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left), "the end of the commands")
