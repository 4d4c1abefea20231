"""What is in an agent's composer is seen: keys that leave nothing in it delay no message, and a line that is
typed into another program stays there."""

from __future__ import annotations

import functools
import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse.testing import Terminal
from tests.support.home import SYNAPSE, Home, wait
from tests.support.patience import PATIENCE
from tests.support.running import Agent

MODES = {"tui": ["--tui"], "line": []}


@contextmanager
def in_front(home: Home, *mode: str) -> Iterator[tuple[Terminal, Agent]]:
    """The reference agent in a terminal, READY."""
    with home.terminal("dummy", "--name", "a", "--", *mode) as terminal:
        terminal.wait_for("? for shortcuts" if mode else "dummy>")
        terminal.wait(lambda: home.agents().get("a", {}).get("status") == "READY", "READY")
        agent = Agent(home)
        with agent.http:
            yield terminal, agent


def recalls_another(home: Home, known: tuple[str | None, ...]) -> bool:
    return composer(home)["text"] not in known


def until_known(home: Home, terminal: Terminal, name: str = "b") -> Agent:
    """Start another agent, and wait until `@name` is routed."""
    home.run("start", "dummy", "--name", name)
    other = Agent(home, name)
    other.http.close()

    tries = itertools.count(1)  # no line is twice in the history

    def is_known() -> bool:
        terminal.type(f"@{name} say ping {next(tries)}\r")
        terminal.pump(1.0)
        return bool(tasks(other))

    wait(is_known, f"@{name} to be routed")
    return other


def tasks(agent: Agent) -> list[str]:
    with httpx.Client(
        base_url=agent.http.base_url, timeout=PATIENCE
    ) as http:  # it is closed, whatever happens
        found = http.get("/tasks").json()["tasks"]
    return ["".join(part.get("text", "") for part in task["message"]["parts"]) for task in found]


def composer(home: Home) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(home.run("why", "a", "--json").stdout)["composer"]
    return said


def done(terminal: Terminal, agent: Agent, text: str) -> dict[str, Any]:
    task = agent.send(text)
    found: dict[str, Any] = {}

    def ended() -> bool:
        found.update(agent.get(task))
        return found["state"] in ("completed", "failed", "canceled")

    terminal.wait(ended, f"end of {text}: {found}", 20.0)
    assert found["state"] == "completed", found
    return found


def is_running(home: Home, program: bytes) -> bool:
    found = (Path(f"/proc/{pid}/cmdline") for pid in home.processes())
    return any(path.read_bytes().startswith(program + b"\0") for path in found if path.exists())


def steps(task: dict[str, Any]) -> list[str]:
    return [receipt["step"] for receipt in task["receipts"]]


def waited(task: dict[str, Any]) -> float:
    at = {r["step"]: datetime.fromisoformat(r["at"].replace("Z", "+00:00")) for r in task["receipts"]}
    return (at["typing"] - at["queued"]).total_seconds()


KEYS = {
    "escape": "\x1b",
    "tab": "\t",
    "up and down": "\x1b[A\x1b[B",
    "mouse": "\x1b[<0;5;5M\x1b[<0;5;5m",
    "typed and erased": "ab\x1b[D\x1b[C\x7f\x7f",
}


def test_keys_that_leave_the_composer_empty_delay_nothing(home: Home) -> None:
    with in_front(home, "--tui") as (terminal, agent):
        for name, keys in KEYS.items():
            terminal.type(keys)
            task = done(terminal, agent, f"say after {name}")
            assert waited(task) < 4.0 and "set aside" not in json.dumps(task["receipts"]), task
        home.run("keys", "a", "Tab")
        assert waited(done(terminal, agent, "say after keys")) < 4.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", ["1", "y"])
def test_the_answer_to_a_question_is_no_draft(home: Home, mode: str, answer: str) -> None:
    with in_front(home, *MODES[mode]) as (terminal, agent):
        terminal.type("confirm Shall I?\r")
        terminal.wait_for("Shall I?")
        terminal.wait(lambda: home.agents()["a"]["status"] == "INPUT_REQUIRED", "the question")
        terminal.type(answer if mode == "tui" else "y\r")
        terminal.wait_for("Confirmed.")
        task = done(terminal, agent, "say hi")
        assert waited(task) < 4.0 and "set aside" not in json.dumps(task["receipts"]), task
        terminal.type("x")
        terminal.wait_for("❯ x" if mode == "tui" else "dummy> x")


def test_a_draft_that_is_seen_makes_room_after_five_seconds(home: Home) -> None:
    with in_front(home, "--tui") as (terminal, agent):
        terminal.type("half a li")
        terminal.wait_for("half a li")
        task = done(terminal, agent, "say between")
        assert waited(task) < 12.0 and "set aside" in json.dumps(task["receipts"]), task
        terminal.wait_for("❯ half a li")
        terminal.type("ne\r")
        terminal.wait_for("You said: half a line")


def test_a_line_from_the_history_is_routed(home: Home) -> None:
    with in_front(home, "--tui") as (terminal, _):
        terminal.type("@b say again\r")  # nobody is called b yet
        terminal.wait_for("You said: @b say again")
        other = until_known(home, terminal)
        for _ in range(5):  # the lines with which it was found out whether b is known are there too
            known = (composer(home)["text"], None)
            terminal.type("\x1b[A")
            terminal.wait(functools.partial(recalls_another, home, known), "a recalled line")
            if composer(home)["text"] == "@b say again":
                break
        assert composer(home)["text"] == "@b say again"
        terminal.type("\r")
        terminal.wait(lambda: "say again" in tasks(other), "the message")


@pytest.mark.parametrize("mode", MODES)
def test_after_a_stop_and_fg_the_next_line_is_routed(home: Home, mode: str) -> None:
    with home.program(["bash", "--norc", "-i"], PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join([*SYNAPSE, "dummy", "--name", "a", "--", *MODES[mode]]) + "\r")
        terminal.wait_for("? for shortcuts" if mode == "tui" else "dummy>")
        other = until_known(home, terminal)
        terminal.wait_until_gone("b: ")  # no note, and no question where the cursor is
        terminal.type("\x1a" if mode == "tui" else "half\x1a")
        terminal.wait_for("Stopped")
        terminal.type("fg\r")
        terminal.wait_for("? for shortcuts" if mode == "tui" else "fg")
        terminal.wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
        terminal.type("@b say after fg\r")
        terminal.wait(lambda: "say after fg" in tasks(other), "the message")


def test_a_line_that_the_kernel_edits_is_known_by_its_keys(home: Home) -> None:
    """The kernel erases wide text only in part, and the echo of Ctrl-Z stays on the screen."""
    with home.program(["bash", "--norc", "-i"], PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join([*SYNAPSE, "dummy", "--name", "a"]) + "\r")
        terminal.wait_for("dummy>")
        terminal.wait(lambda: home.agents().get("a", {}).get("status") == "READY", "READY")
        terminal.wait(lambda: composer(home)["state"] == "empty", "the first prompt")
        other = until_known(home, terminal)
        terminal.wait_until_gone("b: ")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        terminal.type("fg\r")
        terminal.wait(lambda: "dummy> ^Zdummy>" in home.run("screen", "a").stdout, "its prompt again")
        terminal.wait(lambda: composer(home)["state"] == "empty", "an empty line")
        terminal.type("@b say after fg\r")
        terminal.wait(lambda: "say after fg" in tasks(other), "the message")
        terminal.type("日本語\x7f\x7f\x7f")
        terminal.wait_for("日")
        terminal.pump(0.5)
        assert composer(home)["state"] == "empty"
        terminal.type("@b say 日本語です\r")
        terminal.wait(lambda: "say 日本語です" in tasks(other), "the message")
        terminal.pump(0.5)
        assert composer(home)["state"] == "empty"
        terminal.type("日本 li")
        agent = Agent(home)
        with agent.http:
            done(terminal, agent, "say hello")
        terminal.wait(lambda: "dummy> 日本 li" in terminal.screen.text(), "the draft")
        assert composer(home)["text"] == "日本 li"


def test_what_is_typed_into_another_program_stays_there(home: Home) -> None:
    home.profile("sh", "command: bash --norc --noprofile -i\n")
    with home.terminal("sh", "--name", "a", PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.wait(lambda: home.agents().get("a", {}).get("status") == "READY", "READY")
        terminal.wait(lambda: composer(home)["state"] == "empty", "the first prompt")
        other = until_known(home, terminal)
        before = len(tasks(other))
        terminal.type("cat > cat.txt\r")
        terminal.wait(lambda: is_running(home, b"cat"), "cat")
        terminal.type("@b say cat\r")
        terminal.type("\x04")
        terminal.wait(lambda: not is_running(home, b"cat"), "the end of cat")
        terminal.type("cat > here.txt <<END\r")
        terminal.wait(lambda: composer(home)["state"] in ("absent", "unknown"), "the heredoc")
        terminal.type("@b say heredoc\r")
        terminal.type("END\r")
        terminal.wait((home.work / "here.txt").exists, "the end of the heredoc")
        if shutil.which("vim"):
            terminal.type("vim -u NONE -N vim.txt\r")
            terminal.wait(lambda: terminal.screen.alternate_screen, "vim")
            terminal.type("i@b say vim\r\x1b:wq\r")
            terminal.wait(lambda: not terminal.screen.alternate_screen, "the end of vim")
        for name in ("cat", "here", *(["vim"] if shutil.which("vim") else [])):
            path = home.work / f"{name}.txt"
            terminal.wait(path.exists, f"{name}.txt")
            said = "heredoc" if name == "here" else name
            terminal.wait(lambda p=path, s=said: f"@b say {s}\n" in p.read_text(), name)  # type: ignore[misc]
        assert len(tasks(other)) == before
        terminal.wait(lambda: composer(home)["state"] == "empty", "the prompt")
        terminal.type("@b say at the prompt\r")
        terminal.wait(lambda: "say at the prompt" in tasks(other), "the message")


def test_a_message_waits_while_another_program_has_the_terminal(home: Home) -> None:
    home.profile("sh", "command: bash --norc --noprofile -i\nidle_detection: {timeout: 0.5}\n")
    with home.terminal("sh", "--name", "a", PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.wait(lambda: home.agents().get("a", {}).get("status") == "READY", "READY")
        agent = Agent(home)
        with agent.http:
            terminal.type("sleep 47\r")
            terminal.wait(lambda: is_running(home, b"sleep"), "sleep")
            task = agent.send("hello")
            terminal.wait(lambda: "another program" in agent.get(task).get("note", ""), "the reason")
            assert "typing" not in steps(agent.get(task))
            terminal.type("\x03")
            terminal.wait(lambda: "submitted" in steps(agent.get(task)), "the message")


def test_a_paste_that_begins_with_a_name_is_text(home: Home) -> None:
    with in_front(home, "--tui") as (terminal, _):
        other = until_known(home, terminal)
        terminal.type("\x1b[200~@b say pasted\x1b[201~\r")
        terminal.wait_for("You said: @b say pasted")
        terminal.type("@b \x1b[200~say typed\x1b[201~\r")
        terminal.wait(lambda: "say typed" in tasks(other), "the message")
        assert "say pasted" not in tasks(other)
