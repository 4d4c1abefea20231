"""A CLI whose screen changes while messages wait or are being typed: an update, another page."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse.peers import control
from tests.support import changing_program
from tests.support.home import Home, wait
from tests.support.running import Agent

SILENCE = 0.5  # seconds after which a program without output may be READY
PROFILE = f"""
command: [{sys.executable}, {changing_program.__file__}]
paste: bracketed
submit_delay: 0.5
clear_keys: [C-u]
idle_detection: {{strategy: pattern, pattern: '(?m)^  \\? for shortcuts\\s*\\Z', timeout: {SILENCE}}}
composer:
  - {{first: '❯(?:\\s|$)', above: '─{{10}}', below: '─{{10}}'}}
"""
NOT_THERE = "its composer is not on the screen; look at its terminal"
OTHERS = ("glyph", "box", "page")


class Acme(Agent):
    """The program, and what is done to its screen."""

    def look(self, name: str) -> None:
        (self.home.work / "look").write_text(name)
        os.kill(self.program(), signal.SIGUSR1)

    def program(self) -> int:
        mine = [pid for pid in self.home.processes() if _runs(pid, changing_program.__file__)]
        assert len(mine) == 1, mine
        return mine[0]

    def typed(self) -> list[tuple[str, str]]:
        path = self.home.work / "typed"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(look, text) for look, text in map(json.loads, lines)]

    def typed_into(self, *looks: str) -> str:
        return "".join(text for look, text in self.typed() if look in looks)

    def steps(self, task: str) -> list[str]:
        return [str(receipt["step"]) for receipt in self.get(task)["receipts"]]

    def status(self) -> str:
        return str(self.home.agents()["a"]["status"])

    def composer(self) -> str:
        why = control.call(self.home.agents()["a"], "GET", "/why")
        return str(why["composer"]["state"])

    def note(self, task: str) -> str:
        return str(self.get(task).get("note") or "")


def _runs(pid: int, script: str) -> bool:
    try:
        return script.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2]
    except OSError:
        return False


@pytest.fixture
def acme(home: Home) -> Iterator[Acme]:
    home.profile("acme", PROFILE)
    home.run("start", "acme", "--name", "a")
    made = Acme(home)
    with made.http:
        assert made.reply("one") == "You said: one"
        yield made


@pytest.mark.parametrize("other", OTHERS)
def test_between_two_messages(acme: Acme, other: str) -> None:
    acme.look(other)
    wait(lambda: acme.composer() == "absent", "the host to see it")
    first = acme.send("two")
    told = acme.home.run("send", "a", "--return", "--timeout", "1", "three", check=False)
    assert told.returncode == 4 and NOT_THERE in acme.note(first), told.stderr
    assert acme.typed_into(*OTHERS) == "" and (acme.status() != "READY" or other == "glyph")
    acme.look("usual")
    assert acme.until(first)["artifacts"][0]["data"] == "You said: two"


@pytest.mark.parametrize("other", OTHERS)
def test_between_a_message_and_its_enter(acme: Acme, other: str) -> None:
    (acme.home.work / "on-paste").write_text(other)
    task = acme.send("two")
    wait(lambda: NOT_THERE in acme.note(task), "the reason")
    wait(lambda: "refused" in acme.steps(task), "the rest to be kept back")
    acme.look("usual")
    assert acme.until(task)["artifacts"][0]["data"] == "You said: two"
    assert acme.typed_into(*OTHERS) == ""
    assert acme.typed_into("usual").count("\r") == 2, "one Enter for each message"


@pytest.mark.parametrize("other", ["box", "page"])
def test_during_a_turn(acme: Acme, other: str) -> None:
    """What it shows then is no reply, and it is not READY."""
    (acme.home.work / "on-enter").write_text(other)
    task = acme.send("two")
    wait(lambda: acme.composer() == "absent", "the host to see it")
    since = time.monotonic()
    wait(lambda: time.monotonic() - since > 2 * SILENCE, "silence that would make it READY")
    assert acme.get(task)["state"] == "working" and acme.status() != "READY"
    later = acme.send("three")
    acme.look("usual")
    assert acme.until(task)["artifacts"][0]["data"] == "You said: two"
    assert acme.until(later)["artifacts"][0]["data"] == "You said: three"
    assert acme.typed_into(*OTHERS) == ""


def test_a_program_that_fails_at_its_start_is_quoted(home: Home) -> None:
    script = "until [ -e go ]; do sleep 0.1; done; echo no account; exit 3"
    home.profile("acme", f"command: [sh, -c, '{script}']\n")
    home.run("start", "acme", "--name", "a")
    home.run("send", "a", "--no-wait", "hello")
    (home.work / "go").touch()
    said = "the agent ended with status 3; the last line on its screen: no account"
    wait(lambda: said in home.run("tasks", "--json").stdout, "the reason")


def test_at_a_dialog_of_its_first_start_the_sender_is_told_what_it_asks(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui", "--trust")
    told = home.run("send", "a", "--return", "--timeout", "5", "say later", check=False)
    assert told.returncode == 4, told.stderr
    assert "a has not begun with it yet (the agent asks something: Do you trust" in told.stderr
    [question] = json.loads(home.run("questions", "--json").stdout)
    home.run("answer", question["id"], "1")
    [task] = json.loads(home.run("tasks", "--json").stdout)
    wait(lambda: "later" in home.run("task", task["id"][:8]).stdout.split("\n")[-2], "the reply")
