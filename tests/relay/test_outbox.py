"""Lines for other agents, typed at a real agent's prompt, with a host that does as the test says."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synapse.keys.typed import SUBMITTED
from synapse.relay import wire
from synapse.relay.keyboard import Keyboard
from synapse.relay.pty import make_winsize
from synapse.testing import Terminal
from tests.support.home import Home, wait

PROGRAM = str(Path(__file__).parents[1] / "support" / "relay_host.py")


class Session:
    def __init__(self, home: Home, *arguments: str) -> None:
        self.folder = home.path / "relay"
        self.folder.mkdir()
        self.policy("take")
        self.names("codex", "claude")
        argv = [sys.executable, "-P", PROGRAM, "relay", str(self.folder), "dummy", *arguments]
        env = {"PYTHONPATH": str(Path(PROGRAM).parent.parent)}
        self.terminal = Terminal(argv, {**home.env, **env}, 80, 24)
        self.tui = "--tui" in arguments
        self.terminal.wait_for("? for shortcuts" if self.tui else "dummy>")
        wait(lambda: self.frames(wire.HELLO), "the host")
        self.terminal.type("x\x7f")
        wait(lambda: self.frames(wire.KEYS), "the first key")

    def policy(self, word: str) -> None:
        (self.folder / "policy").write_text(word)

    def names(self, *names: str, **more: object) -> None:
        (self.folder / "names").write_text(json.dumps({"names": names, **more}))

    def frames(self, kind: int) -> list[dict[str, Any]]:
        path = self.folder / "frames"
        rows = [json.loads(row) for row in path.read_text().splitlines()] if path.exists() else []
        return [row["said"] for row in rows if row["kind"] == kind]

    def commands(self) -> list[str]:
        return [command["message"] for command in self.frames(wire.COMMAND)]

    def kill_host(self) -> None:
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if b"host" in words and str(self.folder).encode() in words:
                    os.kill(int(name), signal.SIGKILL)

    def say(self, text: str) -> None:
        """An ordinary prompt, which arrives as it is."""
        self.terminal.type(f"{text}\r")
        self.terminal.wait_for(f"You said: {text}")


@pytest.fixture(params=["tui", "line"])
def session(home: Home, request: pytest.FixtureRequest) -> Iterator[Session]:
    made = Session(home, *(["--tui"] if request.param == "tui" else []))
    with made.terminal:
        yield made


@pytest.fixture
def tui(home: Home) -> Iterator[Session]:
    made = Session(home, "--tui")
    with made.terminal:
        yield made


def test_a_line_goes_to_the_host_and_leaves_the_composer_empty(session: Session) -> None:
    session.terminal.type("@Codex --no-wait --priority 3 日本語")
    session.terminal.wait_for("priority 3 日本語")
    session.terminal.type("\r")
    wait(session.commands, "the command")
    (command,) = session.frames(wire.COMMAND)
    assert {key: value for key, value in command.items() if key != "id"} == {
        "name": "codex",
        "message": "日本語",
        "wait": False,
        "priority": 3,
        "timeout": None,
        "expires": None,
        "line": "@Codex --no-wait --priority 3 日本語",
    }
    session.terminal.wait_until_gone("priority 3")
    session.say("an ordinary prompt")
    assert "You said: @Codex" not in session.terminal.screen.text()
    wait(lambda: session.frames(wire.KEYS)[-1]["what"] == SUBMITTED, "the host to know")
    assert (session.frames(wire.KEYS)[-1]["draft"], session.frames(wire.KEYS)[-1]["empty"]) == ("", True)


def test_what_follows_in_the_same_read_comes_after(session: Session) -> None:
    session.terminal.type("@codex one\r@claude two\rthree\r")
    session.terminal.wait_for("You said: three")
    assert session.commands() == ["one", "two"]
    assert "You said: @" not in session.terminal.screen.text()


def test_a_name_that_the_host_does_not_know_any_more_goes_to_the_agent_as_typed(session: Session) -> None:
    session.policy("refuse")
    session.terminal.type("@codex hello\rand more")
    session.terminal.wait_for("You said: @codex hello")
    session.terminal.wait_for("and more")
    session.terminal.type("\r")
    session.terminal.wait_for("You said: and more")


def test_ordinary_lines_pass(session: Session) -> None:
    for line in ("@nobody hi", "@src/app.py fix this", "me@example.com hi", "@codex"):
        session.say(line)
    assert session.commands() == []


def test_a_line_pasted_in_pieces_is_cleared_wherever_the_cursor_is(tui: Session) -> None:
    tui.terminal.type("@codex \x1b[200~one\rtwo\rthree\x1b[201~ four five")
    tui.terminal.wait_for("four five")
    tui.terminal.type("\x1b[D\x1b[D\r")
    wait(tui.commands, "the command")
    assert tui.commands() == ["one\ntwo\nthree four five"]
    tui.terminal.wait_until_gone("three")
    tui.say("next")


def test_a_message_of_200_kb(tui: Session) -> None:
    tui.terminal.type(b"@codex \x1b[200~" + b"a line of text\r" * 14_000 + b"\x1b[201~")
    tui.terminal.wait_for("[Pasted text #1")
    tui.terminal.type("\r")
    wait(tui.commands, "the command")
    assert tui.commands() == [("a line of text\n" * 14_000).strip()]
    tui.terminal.wait_until_gone("[Pasted text")
    tui.say("next")


def test_a_host_that_does_not_answer_is_not_waited_for_and_the_next_gets_the_line(tui: Session) -> None:
    tui.policy("silent")
    tui.terminal.type("@codex hello\r")
    wait(tui.commands, "the command")
    tui.terminal.wait_until_gone("@codex hello")
    tui.say("meanwhile")
    tui.policy("take")
    tui.kill_host()
    wait(lambda: len(tui.commands()) == 2, "the same command again")
    first, second = tui.frames(wire.COMMAND)
    assert first == second
    tui.kill_host()
    wait(lambda: len(tui.frames(wire.HELLO)) == 3, "a third host")
    tui.say("at last")
    assert len(tui.commands()) == 2  # it was taken


def test_without_a_host_nothing_is_routed(tui: Session) -> None:
    tui.names()
    tui.kill_host()
    wait(lambda: len(tui.frames(wire.HELLO)) == 2, "the next host")
    tui.say("@codex hello")
    assert tui.commands() == []


def test_a_wrong_flag_is_told_and_the_line_stays(tui: Session) -> None:
    tui.terminal.type("@codex --priority 9 hi\r")
    wait(lambda: tui.frames(wire.REFUSED), "the refusal")
    assert "1 to 5" in tui.frames(wire.REFUSED)[0]["reason"]
    tui.terminal.wait_for("@codex --priority 9 hi")
    tui.terminal.type("\x1b[D\x1b[D\x1b[D\x7f5\r")
    wait(lambda: tui.commands() == ["hi"], "the command")


def test_the_host_is_told_the_draft(tui: Session) -> None:
    def last() -> dict[str, Any]:
        return tui.frames(wire.KEYS)[-1]

    tui.terminal.type("half a lime\x7f\x7fn")
    tui.terminal.type("e")
    wait(lambda: last()["draft"] == "half a line", "the draft")
    assert not last()["empty"]
    tui.kill_host()
    wait(lambda: len(tui.frames(wire.HELLO)) == 2, "the next host")
    assert tui.frames(wire.HELLO)[-1]["draft"] == [False, "half a line"]
    tui.terminal.type("\x1b[A")
    wait(lambda: (last()["draft"], last()["empty"]) == (None, False), "an unknown draft")
    tui.terminal.type("\x03")
    wait(lambda: (last()["draft"], last()["empty"]) == ("", True), "none")
    tui.terminal.type("\x1b")
    wait(lambda: (last()["draft"], last()["empty"]) == ("", False), "the escape, which nothing followed")


def test_a_password_is_nobodys_business(home: Home) -> None:
    session = Session(home)
    with session.terminal:
        session.terminal.type("password\r")
        session.terminal.wait_for("assword:")
        session.terminal.type("@codex secret")
        session.terminal.type("\r")
        session.terminal.wait(lambda: session.terminal.screen.text().count("dummy>") > 1, "second prompt")
        session.say("ok")
    assert "secret" not in (session.folder / "frames").read_text()


class Agent:
    """Where the keys go, without a process."""

    winsize = make_winsize(80, 24)
    hidden = False

    def __init__(self) -> None:
        self.typed = b""

    def write(self, data: bytes) -> None:
        self.typed += data

    def is_cooked(self) -> bool:
        return False

    def hides_input(self) -> bool:
        return self.hidden

    def is_in_front(self) -> bool:
        return True


class Link:
    def __init__(self) -> None:
        self.socket: object = object()
        self.generation = 1
        self.sent: list[tuple[int, Any]] = []

    def look(self) -> bool:
        return True

    def send(self, frame: bytes) -> None:
        self.sent += [(kind, json.loads(payload)) for kind, payload in wire.Unpacker().feed(frame)]

    def key(self, *_: object) -> None: ...


def keyboard() -> tuple[Keyboard, Agent, Link]:
    agent, link = Agent(), Link()
    reactor = SimpleNamespace(later=lambda seconds, call: None)
    free = SimpleNamespace(busy=False, reserve=lambda: None, run=lambda steps: None)
    parts: Any = (reactor, agent, link, free, lambda line, behind: [], lambda: False, print)
    made = Keyboard(*parts)
    made.set_routing(b'{"names": ["codex"], "passthrough_on_fail": false}')
    return made, agent, link


def test_where_unknown_names_are_refused_none_is_without_a_host() -> None:
    made, agent, link = keyboard()
    made.take(b"@nobody hi\r")
    assert agent.typed == b"@nobody hi" and link.sent[-1][1]["reason"] == "no agent is called nobody"
    made.host_went()  # the next one has not said a word yet
    made.take(b"\r")
    assert agent.typed == b"@nobody hi\r"


def test_what_is_typed_where_nothing_is_echoed_is_no_refusal_either() -> None:
    made, agent, link = keyboard()
    agent.hidden = True
    made.take(b"@codex --priority 9 x\r")
    assert agent.typed == b"@codex --priority 9 x\r" and link.sent == []


def test_a_host_is_asked_once_and_the_next_one_again() -> None:
    made, _, link = keyboard()
    made.take(b"@codex hi\r")
    names = b'{"names": ["codex", "claude"]}'
    made.set_routing(names)  # somebody came, while it had not answered yet
    assert [kind for kind, _ in link.sent] == [wire.COMMAND]
    link.generation = 2
    made.set_routing(names)
    assert [kind for kind, _ in link.sent] == [wire.COMMAND] * 2
