"""`synapse attach`: the real terminal, as if the agent had been started in it."""

from __future__ import annotations

import os
import signal
import termios
from contextlib import suppress
from pathlib import Path

from synapse.base import processes
from tests.support.home import SYNAPSE, Home, wait

DETACH = "\x1dd"


def test_attach_type_detach_attach_again(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    with home.terminal("attach", "a", cols=90, rows=20) as first:
        first.wait_for("? for shortcuts")
        assert first.screen.mode(2004)
        first.type("hello from one\r")
        first.wait_for("You said: hello from one")
        first.type("half a dra")
        first.wait_for("❯ half a dra")
        first.type(DETACH)
        first.wait_for("[detached from a]")
        assert first.wait_exit() == 0
        assert not first.screen.mode(2004) and first.screen.cursor_visible
    with home.terminal("attach", "a", cols=60, rows=15) as second:
        second.wait_for("❯ half a dra")
        second.type("ft\r")
        second.wait_for("You said: half a draft")
        assert "hello from one" in second.screen.contents()
        second.type("size\r")
        second.wait_for("60x15")
        second.resize(70, 25)
        second.wait_for("─" * 70)
        second.type("size\r")
        second.wait_for("70x25")


def test_history_and_the_alternate_screen_come_along(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    home.run("keys", "a", "lines 100", "Enter")
    wait(lambda: "line 100" in home.run("screen", "a").stdout, "the lines")
    with home.terminal("attach", "a") as terminal:
        terminal.wait_for("line 100")
        assert "line 1\nline 2\n" in terminal.screen.contents()
    home.run("start", "dummy", "--name", "b", "--", "--tui", "--alt-screen")
    with home.terminal("attach", "b") as terminal:
        terminal.wait_for("? for shortcuts")
        assert terminal.screen.alternate_screen
        terminal.type(DETACH)
        terminal.wait_for("[detached from b]")
        assert not terminal.screen.alternate_screen


def test_the_last_to_attach_is_the_one_who_writes(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    with home.terminal("attach", "a") as first:
        first.wait_for("dummy>")
        with home.terminal("attach", "a") as second:
            first.wait_for("[detached from a: another terminal attached]")
            assert first.wait_exit() == 0
            second.wait_for("dummy>")
            second.type("mine\r")
            second.wait_for("You said: mine")


def test_the_terminal_is_restored_when_the_agent_ends_or_is_killed(home: Home) -> None:
    for number, said in ((None, "[a has ended with status 5]"), (signal.SIGKILL, "a has ended: see")):
        home.run("start", "dummy", "--name", "a", "--", "--tui")
        shell = " ".join(SYNAPSE) + ' attach a; echo "status $?"; read line'
        with home.program(["sh", "-c", shell]) as terminal:
            terminal.wait_for("? for shortcuts")
            if number is None:
                terminal.type("exit 5\r")
            else:
                os.kill(int(str(home.agents()["a"]["pid"])), number)
            terminal.wait_for(said)
            terminal.wait_for("status 5" if number is None else "status 1")
            terminal.wait(lambda: not terminal.screen.mode(2004), "end of bracketed paste")
            local = terminal.attributes()[3]
            assert isinstance(local, int) and local & termios.ICANON and local & termios.ECHO


def test_an_agent_that_stops_itself_stops_the_client_too(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    with home.program(["bash", "--norc", "--noediting", "-i"], PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join(SYNAPSE) + " attach a\r")
        terminal.wait_for("? for shortcuts")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        assert not terminal.screen.mode(2004)
        terminal.type("fg\r")
        terminal.wait(lambda: terminal.screen.mode(2004), "bracketed paste again")
        terminal.type("back\r")
        terminal.wait_for("You said: back")
        terminal.type(DETACH)
        terminal.wait_for("[detached from a]")
        terminal.type("exit\r")
        terminal.wait_exit()


def test_in_the_background_an_agent_that_stops_itself_goes_on(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    home.run("keys", "a", "C-z", "still here", "Enter")
    wait(lambda: "You said: still here" in home.run("screen", "a").stdout, "the answer")


def test_a_client_that_dies_detaches(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    terminal = home.terminal("attach", "a")
    terminal.wait_for("? for shortcuts")
    terminal.close()
    terminal.wait_exit()
    with home.terminal("attach", "a") as again:
        again.wait_for("? for shortcuts")
        again.type("alive\r")
        again.wait_for("You said: alive")


def test_refusals(home: Home) -> None:
    done = home.run("attach", "nobody", check=False)
    assert done.returncode == 3 and "no agent named 'nobody'" in done.stderr
    with home.terminal("dummy") as front:
        front.wait_for("dummy>")
        with home.terminal("attach", "dummy") as terminal:
            terminal.wait_for("runs in the foreground of another terminal")
            assert terminal.wait_exit() == 1
        done = home.run("attach", "dummy", check=False)
        assert done.returncode == 2 and "must be a terminal" in done.stderr
        front.type("still here\r")
        front.wait_for("You said: still here")


def stopped(session: int) -> list[int]:
    """The stopped processes of a session."""
    states = [(pid, Path(f"/proc/{pid}/stat").read_text()) for pid in processes.session_members(session)]
    return [pid for pid, stat in states if stat.rpartition(")")[2].split()[0] == "T"]


def test_in_the_background_it_leaves_the_shells_terminal_alone(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    with home.program(["bash", "--norc", "--noediting", "-i"], PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join(SYNAPSE) + " attach a &\r")
        terminal.wait_for("[1]")
        wait(lambda: stopped(terminal.pid), "the client, stopped")
        terminal.type("\r")
        terminal.wait_for("Stopped")
        terminal.type("echo still $((6*7))\r")
        terminal.wait_for("still 42")
        terminal.type("fg\r")
        terminal.wait_for("? for shortcuts")
        terminal.type(DETACH)
        terminal.wait_for("[detached from a]")
        terminal.type("exit\r")
        terminal.wait_exit()


def test_a_suspended_agent_can_be_stopped_from_elsewhere(home: Home) -> None:
    with home.program(["bash", "--norc", "--noediting", "-i"], PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join(SYNAPSE) + " dummy --tui\r")
        terminal.wait_for("? for shortcuts")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        assert home.run("stop", "--all").stdout == "stopped dummy\n"
        terminal.type("echo still $((6*7))\r")
        terminal.wait_for("still 42")
        terminal.type("exit\r")
        terminal.wait_exit()


def test_what_an_agent_says_before_the_screen_has_come_is_not_lost(home: Home) -> None:
    home.profile("brief", "command: [sh, -c, 'read line; echo \"last words: $line\"; exit 5']")
    home.run("start", "brief")
    host = next(
        pid for pid in home.processes() if b"synapse.host" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    os.kill(host, signal.SIGSTOP)  # it will not give a snapshot
    with home.terminal("attach", "brief") as terminal:
        terminal.wait(lambda: not int(str(terminal.attributes()[3])) & termios.ECHO, "raw mode")
        terminal.type("farewell\r")
        terminal.wait_for("[brief has ended with status 5]")
        assert b"last words: farewell" in terminal.raw
        assert terminal.wait_exit() == 5
    with suppress(ProcessLookupError):
        os.kill(host, signal.SIGKILL)  # the relay waits 5 s for it
