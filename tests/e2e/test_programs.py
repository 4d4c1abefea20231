"""Full-screen programs work inside as outside. Those that this machine has are tried."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator

import pytest

from synapse.testing import Terminal
from tests.support.home import SYNAPSE, Home, wait


def installed(*names: str) -> list[str]:
    return [name for name in names if shutil.which(name)]


def open_both(home: Home, program: str, *args: str) -> Iterator[Terminal]:
    """The program bare, and then inside Synapse."""
    home.profile(program, f"command: {program}\n")
    yield home.program([program, *args])
    yield home.terminal(program, "--", *args)


@pytest.mark.parametrize("program", installed("vim"))
def test_vim(home: Home, program: str) -> None:
    (home.work / "file.txt").write_text("".join(f"line {n}\n" for n in range(100)))
    screens = []
    for terminal in open_both(home, program, "-u", "NONE", "-N", "file.txt"):
        with terminal:
            terminal.wait_for("line 5")
            terminal.type("ihello \x1b:set number\r")
            terminal.wait_for("1 hello line 0")
            terminal.resize(60, 12)
            terminal.wait(lambda t=terminal: "12" not in t.screen.text().split("\n")[-2][:4], "smaller vim")  # type: ignore[misc]
            terminal.type("G")
            terminal.wait_for("line 99")
            terminal.type("gg\x0c")
            terminal.wait_for("1 hello line 0")
            screens.append(terminal.screen.text())
            terminal.type(":q!\r")
            assert terminal.wait_exit() == 0
            assert not terminal.screen.alternate_screen
    assert screens[0] == screens[1]


@pytest.mark.parametrize("program", installed("less"))
def test_less(home: Home, program: str) -> None:
    (home.work / "file.txt").write_text("".join(f"line {n}\n" for n in range(300)))
    screens = []
    for terminal in open_both(home, program, "file.txt"):
        with terminal:
            terminal.wait_for("line 5")
            terminal.type(" ")
            terminal.wait_for("line 40")
            terminal.type("/line 222\r")
            terminal.wait_for("line 222")
            terminal.wait(lambda t=terminal: t.screen.text().startswith("line 222"), "search")  # type: ignore[misc]
            screens.append(terminal.screen.text())
            terminal.type("q")
            assert terminal.wait_exit() == 0
    assert screens[0] == screens[1]


# What is typed, one piece after the other, and what the program shows then.
SESSIONS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "bash": (
        ["--norc", "-i"],
        [
            ("", "$"),
            ("echo one two\x1b[D\x1b[D\x1b[DX\r", "one Xtwo"),
            ("\x1b[A\x01\x0b", ""),
            ("printf '%s\\n' a{1..40}\r", "a40"),
            ("ls file.txt\t\r", "file.txt"),
            ("echo fin\"ished\"\r", "finished"),
            ("exit 3\r", ""),
        ],
    ),
    "vim": (
        ["-u", "NONE", "-N", "-i", "NONE", "--cmd", "set t_RV= t_u7= t_RF= t_RB= t_RS=", "file.txt"],
        [
            ("", "line 5"),
            ("ihello \x1b", "hello line 0"),
            (":set number\r", "1 hello"),
            ("G", "line 99"),
            (":q!\r", ""),
        ],
    ),
    "less": (
        ["file.txt"],
        [("", "line 5"), (" ", "line 40"), ("/line 77\r", "line 77"), ("g", "line 5"), ("q", "")],
    ),
    "python3": (
        ["-q"],
        [("", ">>>"), ("6*7\r", "42"), ("'a'\x1b[Db\r", "'ab'"), ("\x1b[A\r", "'ab'"), ("exit(3)\r", "")],
    ),
}  # fmt: skip


def type_slowly(terminal: Terminal, steps: list[tuple[str, str]]) -> None:
    """Type each piece, and wait for what the program shows then."""
    for keys, expected in steps:
        for key in re.findall(r"\x1b\[.|.", keys, re.DOTALL):
            before = len(terminal.raw)
            terminal.type(key)
            if key.isprintable() or len(key) > 1:
                terminal.wait(lambda b=before: len(terminal.raw) > b or terminal.pty.exited(), "echo")  # type: ignore[misc]
                quiet(terminal, 0.05)
        if expected:
            terminal.wait(lambda e=expected: e in terminal.screen.text(), expected)  # type: ignore[misc]
        quiet(terminal)


def quiet(terminal: Terminal, seconds: float = 0.25) -> None:
    size, since = len(terminal.raw), time.monotonic()
    while time.monotonic() < since + seconds and not terminal.pty.exited():
        terminal.pump(0.01)
        if len(terminal.raw) != size:
            size, since = len(terminal.raw), time.monotonic()


@pytest.mark.parametrize("program", installed(*SESSIONS))
def test_every_byte_that_a_program_writes_is_the_same(home: Home, program: str) -> None:
    (home.work / "file.txt").write_text("".join(f"line {n}\n" for n in range(100)))
    home.profile(program, f"command: {program}\n")
    args, steps = SESSIONS[program]
    found = []
    for argv in ([program, *args], [*SYNAPSE, program, "--", *args]):
        with home.program(argv, PS1="$ ", HISTFILE="", PYTHON_HISTORY="", LESSHISTFILE="-") as terminal:
            type_slowly(terminal, steps)
            status = terminal.wait_exit()  # the last bytes may come late
        found.append((bytes(terminal.raw), status))
    (bare, status), (inside, ours) = found
    assert inside[: len(bare)] == bare and ours == status
    # What follows, if anything, takes back modes that the program has left on.
    assert not inside[len(bare) :].replace(b"\x1b", b"").strip(b"[?0123456789;hlu<>=mr7 8q")


@pytest.mark.parametrize("program", installed("htop"))
def test_htop(home: Home, program: str) -> None:
    for terminal in open_both(home, program):
        with terminal:
            terminal.wait_for("Load average")
            assert terminal.screen.alternate_screen
            terminal.type("q")
            assert terminal.wait_exit() == 0
            assert not terminal.screen.alternate_screen


@pytest.mark.parametrize("program", installed("tmux"))
def test_tmux(home: Home, program: str) -> None:
    for number, terminal in enumerate(
        open_both(home, program, "-L", home.path.name, "-f", "/dev/null", "new", "bash", "--norc")
    ):
        with terminal:
            terminal.wait_for("[0")
            terminal.type("echo $((6*7))\r")
            terminal.wait_for("42")
            terminal.resize(70, 20)
            terminal.wait(lambda t=terminal: "[0" in t.screen.text().split("\n")[-1], "status line")  # type: ignore[misc]
            terminal.type("exit\r")
            assert terminal.wait_exit() == 0, number


@pytest.mark.parametrize("program", installed("bash"))
def test_a_shell_with_job_control(home: Home, program: str) -> None:
    home.profile("sh", "command: bash --norc --noediting -i")
    with home.terminal("sh", PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type("sleep 47\r")
        wait(
            lambda: any(b"sleep\0" in cmdline(pid) for pid in home.processes()) or not terminal.pump(),
            "sleep",
        )
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        terminal.type("bg; jobs\r")
        terminal.wait_for("Running")
        terminal.type("kill %1; tput cols; stty size\r")
        terminal.wait_for("24 80")
        terminal.type("exit 9\r")
        terminal.type("exit 9\r")
        assert terminal.wait_exit() == 9


def cmdline(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


@pytest.mark.parametrize("program", installed("python3"))
def test_python_with_its_own_line_editing(home: Home, program: str) -> None:
    home.profile("py", "command: python3")
    with home.terminal("py") as terminal:
        terminal.wait_for(">>>")
        terminal.type("1+\x1b[D2\x1b[C3\r")  # editing in the middle: 12+3
        terminal.wait(lambda: terminal.screen.text().endswith("15\n>>>"), "result and prompt")
        terminal.type("\x1b[A\r")
        terminal.wait(lambda: terminal.screen.text().count("\n15\n>>>") == 2, "history")
        terminal.type("\x04")
        assert terminal.wait_exit() == 0


def test_a_fault_of_ours_restores_the_terminal_and_says_so_in_a_sentence(home: Home) -> None:
    crash = (
        "import sys; from synapse.relay import loop; from synapse.cli.main import main\n"
        "real = loop.Relay._pass_on\n"
        "def broken(self, data):\n"
        "    if b'trip' in data: raise RuntimeError('wire cut')\n"
        "    real(self, data)\n"
        "loop.Relay._pass_on = broken\n"
        "sys.exit(main(['dummy', '--tui']))\n"
    )
    script = home.path / "crash.py"
    script.write_text(crash)
    with home.program(["sh", "-c", f'{SYNAPSE[0]} {script}; echo "status $?"; read line']) as terminal:
        terminal.wait_for("? for shortcuts")
        terminal.type("trip")
        terminal.wait_for("status 1")
        text = terminal.screen.text()
        assert "the relay failed and had to end" in text and "wire cut" in text and "Traceback" not in text
        assert not terminal.screen.mode(2004)
    assert "Traceback" in home.log("dummy")
    assert home.agents() == {}
