"""`@name message` typed at an agent's own prompt: real terminals, relays, hosts and agents."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from synapse.registry import Entry
from synapse.testing import Terminal
from tests.support.home import SYNAPSE, Home, new_home, wait
from tests.support.screen_state import state

CHORD, DETACH = "\x1do", "\x1dd"
TOAST = "48;5;24"  # its background
READY = {"tui": "? for shortcuts", "alt": "? for shortcuts", "line": "dummy>"}
ARGUMENTS = {"tui": ["--tui"], "alt": ["--alt-screen"], "line": []}


class Pane:
    """One agent in a terminal, and the human in front of it."""

    def __init__(self, home: Home, name: str, terminal: Terminal, shows: str) -> None:
        self.home = home
        self.name = name
        self.terminal = terminal
        terminal.wait_for(shows)

    def has_toast(self) -> bool:
        screen = self.terminal.screen
        rows = screen.rows(0, screen.size[1])
        return any(TOAST in cell.sgr for row in rows for cell in row.cells)

    @property
    def composer(self) -> str:
        """The row of the cursor."""
        screen = self.terminal.screen
        return screen.text().splitlines()[screen.cursor[1]]

    def type(self, text: str) -> None:
        self.terminal.type(text)

    def compose(self, line: str, shows: str = "") -> None:
        """A line, not yet sent."""
        self.type(line)
        self.terminal.wait_for(shows or line)

    def send(self, line: str, shows: str = "") -> None:
        self.compose(line, shows)
        self.type("\r")

    def wait_for(self, *texts: str) -> None:
        for text in texts:
            self.terminal.wait_for(text)

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.terminal.pump(left)

    def knows(self, name: str) -> None:
        """Until a line for that agent would be sent: a wrong flag is told of, and the line stays."""
        line = f"@{name} --priority 9 x"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            before = self.terminal.screen.contents().count(f"You said: {line}")
            self.send(line)
            self.terminal.wait(
                lambda before=before: (  # type: ignore[misc]
                    f"✗ {name}: failed" in self.terminal.screen.text()
                    or self.terminal.screen.contents().count(f"You said: {line}") > before
                ),
                "refusal, or the line as text",
            )
            if f"✗ {name}: failed" in self.terminal.screen.text():
                break
            self.rest(0.05)
        self.type("\x15")
        self.terminal.wait(lambda: line not in self.composer, "empty composer")
        self.terminal.wait_for(f"✗ {name}: failed")  # drawn again
        self.read()

    def read(self) -> str:
        """Open the panel until nothing new is there; what it showed."""
        shown = ""
        while self.has_toast():
            self.open()
            shown += self.terminal.screen.text()
            self.close()
            self.rest(0.2)
        return shown

    def open(self) -> None:
        self.type(CHORD)
        self.terminal.wait_for("╭─")
        self.terminal.wait_for("╰─")  # the whole of it: a frame may come in several reads

    def close(self) -> None:
        self.type("q")
        self.terminal.wait_until_gone("╭─")

    def reply(self, name: str, text: str) -> None:
        """Until its reply has come, and has been read."""
        self.terminal.wait_for(f"← {name}: replied")
        shown = self.read()
        assert text in shown, shown

    def host(self) -> int:
        """The process id of the host."""
        relay = int(str(self.home.agents()[self.name]["pid"]))
        children = Path(f"/proc/{relay}/task/{relay}/children").read_text().split()
        found = [int(pid) for pid in children if b"synapse.host" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return found[0]

    def replace_host(self, number: int = signal.SIGKILL) -> None:
        before = self.host()
        os.kill(before, number)

        def replaced() -> bool:
            self.terminal.pump(0.01)
            try:
                return self.host() != before
            except (IndexError, OSError):
                return False

        wait(replaced, "another host")


class Street:
    """A user with several agents; each is started when it is first asked for."""

    def __init__(self, home: Home, stack: ExitStack) -> None:
        self.home = home
        self._stack = stack
        self._panes: dict[str, Pane] = {}
        (home.path / "synapse").mkdir()
        (home.path / "synapse" / "config.yaml").write_text(
            "agents:\n  helper:\n    profile: dummy\n    auto_start: true\n"
            "routing:\n  pair_per_minute: 0\n"  # all tests together say much to b
        )
        self.start("b")

    def start(self, name: str, *arguments: str) -> Entry:
        """In the background."""
        if name not in self.home.agents():
            self.home.run("start", "dummy", "--name", name, "--", *arguments)
        return self.home.agents()[name]

    def pane(self, mode: str) -> Pane:
        if mode not in self._panes:
            terminal = self.home.terminal("dummy", "--name", mode, "--", *ARGUMENTS[mode], cols=100, rows=50)
            self._stack.enter_context(terminal)
            self._panes[mode] = Pane(self.home, mode, terminal, READY[mode])
            terminal.wait(lambda: not self.home.run("status", mode, check=False).returncode, "host")
            self._panes[mode].knows("b")
        return self._panes[mode]

    def received(self, name: str) -> list[str]:
        """The messages that an agent was sent, the last one first."""
        tasks = self.home.run("tasks", name, "--json").stdout
        return ["".join(part["text"] for part in task["message"]["parts"]) for task in json.loads(tasks)]


@pytest.fixture(scope="module")
def street() -> Iterator[Street]:
    with new_home() as home, home.ours(), ExitStack() as stack:
        yield Street(home, stack)


@pytest.fixture
def a(street: Street) -> Iterator[Pane]:
    """The one in front of which most of it happens; nothing of a test is left for the next."""
    pane = street.pane("tui")
    yield pane
    pane.type("\x03")
    pane.read()


# --- what is seen -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["tui", "alt", "line"])
def test_a_message_and_its_reply_leave_no_trace(street: Street, mode: str) -> None:
    pane = street.pane(mode)
    screen = pane.terminal.screen
    lines = [
        ("@b hello", "@b hello"),
        ("@b ho\x1b[D\x1b[Dech", "@b echho"),
        ("@b 日本語 です", "日本語 です"),
    ]
    lines += [("@b " + "many words " * 30, "many words")]
    for number, (typed, shows) in enumerate(lines):
        if mode == "line" and number:
            break  # the kernel edits and echoes there: it knows no cursor keys, wide characters or rows
        before = state(screen, scrollback=True, strict=False)
        pane.send(typed, shows)
        pane.reply("b", "You said: [A2A:")
        pane.terminal.wait(
            lambda before=before: state(screen, scrollback=True, strict=False) == before,  # type: ignore[misc]
            "screen as it was",
        )
    assert street.received("b")[0] == lines[0 if mode == "line" else 3][0].removeprefix("@b ").strip()
    pane.send("nothing before this", "nothing before this")
    pane.wait_for("You said: nothing before this")


def test_a_question_is_answered_in_the_panel(a: Pane) -> None:
    a.send("@b confirm Really?")
    a.wait_for("? b: asks", "Really?")
    a.open()
    a.wait_for("a answer", "1. y")
    a.type("ay")
    a.wait_for("answer › y")
    a.type("\r")
    a.wait_for("Confirmed.")
    a.close()


def test_enter_alone_is_an_answer(a: Pane) -> None:
    a.send("@b ask ok? [Enter]")
    a.wait_for("? b: asks", "ok? [Enter]")
    a.open()
    a.type("a")
    a.wait_for("Enter send an empty answer")
    a.type("\r")
    a.wait_for("You answered:")
    a.close()


def test_a_reply_is_given_to_the_agent_here(a: Pane) -> None:
    a.send("@b say a word for you")
    a.wait_for("← b: replied")
    a.open()
    a.wait_for("give to the agent here")
    a.type("i")
    a.wait_for("b] a word for you")


def test_what_is_typed_while_a_reply_comes_is_all_there(a: Pane) -> None:
    a.send("@b silent 1 late")
    typed = ""
    while "← b: replied" not in a.terminal.screen.text():
        typed += "abcdefghij"[len(typed) % 10]
        a.type(typed[-1])
        a.rest(0.02)
        assert len(typed) < 900
    a.type("END")
    a.terminal.wait(
        lambda: f"{typed}END" in "".join(line[2:] for line in a.terminal.screen.text().splitlines()),
        "all that was typed",
    )


# --- what is not a message ----------------------------------------------------------------------------------


def test_what_is_for_nobody_goes_to_the_agent_as_typed(a: Pane) -> None:
    lines = (
        "@",
        "@b",
        "@b@host hi",
        "me@b.org hi there",
        "@src/app.py fix this",
        "@nobody hi",
        f"@{a.name} me",
    )
    a.terminal.wait(lambda: not a.has_toast(), "end of the notes of earlier tests")
    for line in lines:
        a.send(line)
        a.wait_for(f"You said: {line}")
    assert not a.has_toast()


def test_a_line_that_could_be_for_two_stays_and_it_is_said_why(a: Pane, street: Street) -> None:
    street.start("c")
    a.knows("c")
    a.send("@dummy hello")
    a.wait_for("✗ dummy: failed", "could be any of")
    a.read()
    assert a.composer == "❯ @dummy hello"
    a.type("\x01\x1b[C" + "\x1b[3~" * 5 + "c\r")
    a.reply("c", "hello")


# --- several ------------------------------------------------------------------------------------------------


def test_several_under_way_and_everybody(a: Pane, street: Street) -> None:
    street.start("c")
    a.knows("c")
    a.send("@b silent 1.2 the first")
    a.wait_for("→ b: working")
    a.send("@b the second")
    a.wait_for("sending · the agent is busy with a task of ")
    a.send("@c the third")
    a.wait_for("← c: replied")
    a.wait_for("← b: replied")
    shown = a.read()
    assert all(word in shown for word in ("the first", "the second", "the third"))
    a.send("@all say everybody")
    for name in ("b", "c"):
        wait(lambda name=name: street.received(name)[0] == "say everybody", "it")  # type: ignore[misc]
    a.terminal.wait(lambda: a.terminal.screen.text().count(": replied") >= 2, "replies of two")
    assert a.read().count("everybody") >= 4  # the message and the reply of each


def test_flags(a: Pane, street: Street) -> None:
    a.send("@b --no-wait say only there")
    a.wait_for("→ b: delivered")
    wait(lambda: street.received("b")[0] == "say only there", "the message")
    a.send("@b --timeout 1 silent 2 too late")
    a.wait_for("→ b: still working", "the reply comes here; `synapse task ")
    a.reply("b", "too late")
    a.send("@b --no-wait silent 30 x")
    wait(lambda: street.home.agents()["b"]["status"] == "PROCESSING", "its turn")
    a.send('@b --priority 5 --return "at once"')
    a.reply("b", "at once")
    tasks = street.home.run("tasks", "b").stdout
    assert "canceled" in tasks.splitlines()[2]  # interrupted by it


def test_two_who_write_to_each_other_at_the_same_moment(street: Street) -> None:
    one, other = street.pane("tui"), street.pane("line")
    one.knows("line")
    other.knows("tui")
    one.compose("@line say from one")
    other.compose("@tui say from the other")
    one.type("\r")
    other.type("\r")
    one.wait_for("← line: replied")
    other.wait_for("← tui: replied")
    assert "from one" in one.read()
    assert "from the other" in other.read()
    one.wait_for("● from the other")
    other.wait_for("from one")


def test_an_agent_that_comes_while_the_line_is_typed_and_one_that_goes(a: Pane, street: Street) -> None:
    a.compose("@late hel")
    street.start("late")
    a.type("\x15")
    a.knows("late")
    a.compose("@late hel")
    a.send("lo", "@late hello")
    a.reply("late", "hello")
    a.compose("@late again")
    street.home.run("stop", "late")
    a.type("\r")
    a.terminal.wait(
        lambda: any(text in a.terminal.screen.text() for text in ("You said: @late again", "✗ late: failed")),
        "the line with the agent here, or why it stays",
    )


def test_one_that_is_started_when_a_message_is_for_it(a: Pane, street: Street) -> None:
    a.send("@helper say here I am")
    a.wait_for("sending · starting helper")
    a.reply("helper", "here I am")
    street.home.run("stop", "helper")


def test_an_agent_that_did_not_wait_is_told_of_the_reply(a: Pane, street: Street) -> None:
    words = ("send", "b", "--no-wait", "say for the agent itself")
    street.home.run(*words, **street.home.inside(a.name))
    a.wait_for("(for your information, it needs no answer)", "the agent itself")
    assert not a.has_toast()


# --- what goes wrong ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_other_ends_while_it_is_waited_for(a: Pane, street: Street, how: str) -> None:
    entry = street.start("victim")
    a.knows("victim")
    a.send("@victim silent 100 never")
    a.wait_for("→ victim: working")
    if how == "stop":
        street.home.run("stop", "victim")
    else:
        os.kill(int(str(entry["pid"])), signal.SIGKILL)
    a.wait_for("✗ victim: failed")
    a.open()
    a.wait_for("ended" if how == "kill" else "failed:")
    a.close()


def test_the_host_dies_while_a_reply_is_due(a: Pane, street: Street) -> None:
    a.send("@b silent 1.5 worth waiting for")
    a.wait_for("→ b: working")
    a.replace_host()
    a.wait_for("← b: replied")
    a.open()
    a.wait_for("worth waiting for", "replied after")
    a.close()
    assert street.received("b").count("silent 1.5 worth waiting for") == 1
    a.knows("b")


def test_the_host_dies_before_it_has_stored_the_line(a: Pane, street: Street) -> None:
    host = a.host()
    os.kill(host, signal.SIGSTOP)
    a.send("@b say stored by the next one")
    a.terminal.wait(lambda: a.composer.strip() == "❯", "empty composer")  # nobody waits for the host
    a.compose("typed meanwhile")
    a.replace_host()
    a.reply("b", "stored by the next one")
    assert street.received("b").count("say stored by the next one") == 1
    assert a.composer == "❯ typed meanwhile"


def test_a_message_of_200_kb(a: Pane, street: Street) -> None:
    text = "a line of text\n" * 14_000
    a.type("@b \x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")
    a.wait_for("[Pasted text #1")
    a.type("\r")
    a.reply("b", "The message is in the file")
    assert street.received("b")[0] == text.strip()


def test_agents_elsewhere(a: Pane, street: Street) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:  # not one that the next agent here would take
        port = free.getsockname()[1]
    street.home.run("start", "dummy", "--name", "gone", "--port", str(port))
    gone = street.home.agents()["gone"]
    for alias, entry in (("far", street.home.agents()["b"]), ("lost", gone)):
        street.home.run("external", "add", f"http://127.0.0.1:{entry['port']}", "--alias", alias)
    a.knows("lost")
    a.send("@far say hello from afar")
    a.reply("far", "hello from afar")
    street.home.run("stop", "gone")
    a.send("@lost hello")
    a.wait_for("✗ lost: failed")


def test_a_question_from_elsewhere_outlives_the_host_and_is_answered_in_the_panel(
    a: Pane, street: Street
) -> None:
    street.home.run("external", "add", f"http://127.0.0.1:{street.start('b')['port']}", "--alias", "far")
    a.knows("far")
    a.send("@far confirm Truly?")
    a.wait_for("? far: asks", "Truly?")
    a.replace_host()
    a.terminal.wait(lambda: not street.home.run("status", a.name, check=False).returncode, "host")
    a.wait_for("? far: asks")
    a.open()
    a.wait_for("a answer", "1. y")
    a.type("a1")
    a.wait_for("answer › 1")
    a.type("\r")
    a.wait_for("Confirmed.")
    a.close()
    a.send("@far silent 1.5 from afar")
    a.wait_for("→ far: working")
    a.replace_host()
    a.reply("far", "from afar")
    assert [street.received("b").count(text) for text in ("confirm Truly?", "silent 1.5 from afar")] == [1, 1]


# --- over a screen that moves -------------------------------------------------------------------------------


def test_floods_and_resizes_under_a_toast(a: Pane, street: Street) -> None:
    a.send("@b silent 1 done")
    a.wait_for("→ b: ")
    a.type("lines 2000\r")
    a.wait_for("line 2000", "← b: replied")
    a.open()
    for size in ((80, 24), (60, 12), (100, 50)):
        a.terminal.resize(*size)
        a.terminal.pump(0.3)
    a.wait_for("╭─")
    a.close()
    a.read()
    a.terminal.wait(
        lambda: a.terminal.screen.text().split() == street.home.run("screen", a.name).stdout.split(),
        "what the agent has written",
    )
    assert "(C-] o)" not in a.terminal.screen.contents()


def test_a_terminal_that_comes_back_finds_the_reply(street: Street) -> None:
    street.start("background", "--tui")
    for number in (1, 2):
        with street.home.terminal("attach", "background", cols=100, rows=50) as terminal:
            pane = Pane(street.home, "background", terminal, READY["tui"])
            if number == 1:
                pane.send("@b silent 1 while nobody looked")
                pane.wait_for("→ b: working")
                pane.type(DETACH)
                pane.wait_for("[detached from background]")
                assert "→ b:" not in terminal.screen.text()  # nothing of ours is left on the terminal
            else:
                pane.reply("b", "while nobody looked")
                pane.type(DETACH)
                pane.wait_for("[detached from background]")


RECORDER = """\
import os, sys, tty
tty.setraw(0)
print("recording", end="\\r\\n", flush=True)
with open(sys.argv[1], "wb", buffering=0) as file:
    while data := os.read(0, 65536):
        file.write(data)
"""


@pytest.mark.parametrize("enabled", ["false", "true"])
def test_bytes_out_are_bytes_in(street: Street, enabled: str) -> None:
    """Everything, without routing; with it, all but the line for another agent."""
    program, out = street.home.path / "recorder.py", street.home.path / f"recorded-{enabled}"
    program.write_text(RECORDER)
    street.home.profile("recorder", f"command: [{sys.executable}, {program}, {out}]\nclear_keys: [C-u]\n")
    name = f"recorder-{enabled}"
    street.home.run("start", "recorder", "--name", name, SYNAPSE_INPUT_ROUTING__ENABLED=enabled)
    line = "@b a line\r"
    rest = (
        "plain\r@nobody x\r日本\x1b[A\x1b[200~@b pasted\rlines\x1b[201~\x1b[D\t\x1b\x7f\x00@b\r" + "x" * 5000
    )
    with street.home.terminal("attach", name) as terminal:
        terminal.wait_for("recording")
        terminal.type(line)
        expected = (line if enabled == "false" else "@b a line\x15").encode()
        terminal.wait(lambda: len(out.read_bytes()) >= len(expected), "line")
        terminal.type(rest)
        expected += rest.encode()
        terminal.wait(lambda: len(out.read_bytes()) >= len(expected), "bytes")
        assert out.read_bytes() == expected
        if enabled == "true":
            terminal.wait_for("← b: replied")
    street.home.run("stop", name)


def test_after_ctrl_z_nothing_is_drawn_over_what_the_shell_wrote(home: Home) -> None:
    """With a note on the screen, before and after, and an agent that does not repaint."""
    home.run("start", "dummy", "--name", "b")
    with home.program(["bash", "--norc", "--noediting", "-i"], rows=40, PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join(SYNAPSE) + " dummy --name a\r")
        pane = Pane(home, "a", terminal, "dummy>")
        pane.knows("b")
        terminal.type("bytes 1b5b324a1b5b48\r")  # clear the screen
        terminal.wait(lambda: terminal.screen.cursor[1] < 5, "the first rows")
        for word in ("first", "second"):
            terminal.type(f"the {word}\r")
            terminal.wait_for(f"You said: the {word}")
        pane.send("@b silent 60")
        terminal.wait_for("→ b")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        terminal.wait_until_gone("→ b")
        terminal.type("echo from the $((1 + 1))nd shell\r")
        terminal.wait_for("from the 2nd shell")
        terminal.wait(lambda: terminal.screen.text().endswith("$"), "prompt")
        before = [line for line in terminal.screen.contents().split("\n") if line.strip()]
        assert terminal.screen.cursor[1] == len(terminal.screen.text().rstrip().split("\n")) - 1
        terminal.type("fg\r")
        terminal.wait(lambda: not int(str(terminal.attributes()[3])) & termios.ECHO, "raw mode again")
        terminal.wait_for("→ b")
        terminal.type("the third\r")
        terminal.wait_for("You said: the third")
        after = [line.split("→ b")[0].rstrip() for line in terminal.screen.contents().split("\n")]
        after = [line for line in after if line.strip()]
        assert after[: len(before) - 1] == before[:-1], "a row of the shell was overwritten"
        assert after.index("$ fg") == len(before) - 1
        terminal.type("/exit\r")
        terminal.wait(lambda: terminal.screen.text().rstrip().endswith("$"), "prompt")
        terminal.type("exit\r")
        terminal.wait_exit()
