"""`synapse-shell` in a real terminal, from a pipe, and with `-c`: the user's own shell, and agents in it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
from pathlib import Path

import pytest

from synapse.testing import Terminal
from tests.support.home import SYNAPSE, Home, wait

SHELLS = [
    pytest.param(path, id=name, marks=() if path else pytest.mark.skip(reason=f"there is no {name} here"))
    for name in ("bash", "zsh", "dash", "fish")
    for path in [shutil.which(name)]
]
BASH_AND_DASH = [SHELLS[0], SHELLS[2]]
BASH = shutil.which("bash") or "/bin/sh"
FULL_SCREEN = """\
import sys, termios, tty
saved = termios.tcgetattr(0)
tty.setraw(0)
sys.stdout.write("\\x1b[?1049h\\x1b[Hfull screen"); sys.stdout.flush()
key = sys.stdin.buffer.raw.read(1)
sys.stdout.write("\\x1b[?1049l"); sys.stdout.flush()
termios.tcsetattr(0, termios.TCSANOW, saved)
print("key", key)
"""


def shell(home: Home, program: str = BASH, **more: str) -> Terminal:
    terminal = home.program([*SYNAPSE, "shell"], 80, 24, SHELL=program, **more)
    terminal.wait_for("synapse>")
    return terminal


def enter(terminal: Terminal, line: str, until: str) -> None:
    terminal.type(line + "\r")
    terminal.wait_for(until)


def at_prompt(terminal: Terminal) -> None:
    """Until the last row is a prompt with nothing typed, and stays one: a redraw may be half read."""

    def empty() -> bool:
        rows = [row for row in terminal.screen.text().split("\n") if row.strip()]
        return bool(rows) and rows[-1].startswith("synapse>") and len(rows[-1].split()) <= 3

    terminal.wait(empty, "empty prompt")
    terminal.pump(0.15)
    terminal.wait(empty, "empty prompt")


# --- the shell underneath -----------------------------------------------------------------------------------


@pytest.mark.parametrize("program", SHELLS)
def test_one_session_for_all_commands(home: Home, program: str) -> None:
    code = "$status" if program.endswith("fish") else "$?"
    variable = "set there" if program.endswith("fish") else "there="
    with shell(home, program) as terminal:
        terminal.type("cd /usr\r")
        terminal.wait_for("    /usr")
        enter(terminal, f"{variable + ' ' if 'set' in variable else variable}kept; pwd | tr a-z A-Z", "/USR")
        enter(terminal, "echo is-$there", "is-kept")
        terminal.type("false\r")
        terminal.wait_for("[1] /usr")
        enter(terminal, f"echo st-{code}", "st-1")
        enter(terminal, "printf 'no newline'", "no newline\n")
        terminal.type("sleep 100\r")
        wait(lambda: _running(home, "sleep", "S", in_front=True), "sleep")
        terminal.type("\x03")
        terminal.wait_for("[130] /usr")
        enter(terminal, "echo still-$there", "still-kept")
        terminal.type("sh -c 'exit 3'\r")
        terminal.wait_for("[3] /usr")
        terminal.type("\x04")
        assert terminal.wait_exit() == 3
    home.wait_no_process()


@pytest.mark.parametrize("program", SHELLS)
def test_job_control(home: Home, program: str) -> None:
    with shell(home, program) as terminal:
        terminal.type("sleep 100\r")
        wait(lambda: _running(home, "sleep", in_front=True), "sleep")
        terminal.type("\x1a")
        at_prompt(terminal)
        enter(terminal, "jobs", "topped" if not program.endswith("zsh") else "suspended")
        terminal.type("fg\r")
        wait(lambda: _running(home, "sleep", "S", in_front=True), "sleep again")
        terminal.type("\x03")
        at_prompt(terminal)
        assert not _running(home, "sleep")
        terminal.type("sleep 100 &\r")
        wait(lambda: _running(home, "sleep"), "sleep in the background")
        at_prompt(terminal)
        terminal.type("kill %1\r")
        wait(lambda: not _running(home, "sleep"), "end of sleep")
        at_prompt(terminal)
        terminal.type("exit 4\r")
        assert terminal.wait_exit() == 4


def _running(home: Home, name: str, state: str = "ST", in_front: bool = False) -> bool:
    """`in_front`: its shell has given it the terminal, and it gets what is typed."""
    for pid in home.processes():
        try:
            said = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        fields = said.rpartition(")")[2].split()
        if f"({name})" in said and fields[0] in state and (not in_front or fields[2] == fields[5]):
            return True
    return False


def test_a_full_screen_program_has_the_terminal(home: Home) -> None:
    (home.work / "full.py").write_text(FULL_SCREEN)
    with shell(home) as terminal:
        terminal.type(f"{sys.executable} full.py\r")
        terminal.wait_for("full screen")
        assert "synapse>" not in terminal.screen.text()
        terminal.resize(60, 20)
        terminal.type("\x03")
        terminal.wait_for("key b'\\x03'")
        enter(terminal, "stty size", "20 60")
        enter(terminal, "stty -a | grep -ow -- -echo || echo echo''es", "echoes")


def test_several_lines_make_one_command(home: Home) -> None:
    with shell(home) as terminal:
        terminal.type("for i in 1 2\r")
        terminal.wait_for("\n>")
        terminal.type("do echo n$i; done\r")
        terminal.wait_for("n1\nn2")
        enter(terminal, "echo 'a\rb' | wc -l", "\n2\n")
        enter(terminal, "cat <<E\rhere $((1+1))\rE", "\nhere 2\n")
        enter(terminal, "echo )", "syntax error")


def test_keys_typed_ahead_come_to_the_prompt(home: Home) -> None:
    with shell(home) as terminal:
        terminal.type("sleep 0.3\recho a''head\recho la")
        terminal.wait_for("\nahead")
        terminal.type("st\r")
        terminal.wait_for("\nlast")


def test_output_of_a_job_in_the_background_is_shown(home: Home) -> None:
    with shell(home) as terminal:
        terminal.type("(while [ ! -e go ]; do sleep 0.01; done; echo from''-behind) &\r")
        at_prompt(terminal)
        terminal.type("echo half")
        terminal.wait_for("> echo half")
        (home.work / "go").touch()
        terminal.wait_for("from-behind")
        terminal.type("-done\r")
        terminal.wait_for("\nhalf-done")


@pytest.mark.parametrize("program", BASH_AND_DASH)
def test_ctrl_c_clears_the_line_and_ctrl_d_speaks_of_jobs_once(home: Home, program: str) -> None:
    with shell(home, program) as terminal:
        terminal.type("echo never\x03")
        terminal.wait_for("[130]")
        terminal.type("set -C; sleep 100 &\r")
        wait(lambda: _running(home, "sleep"), "sleep")
        at_prompt(terminal)
        terminal.type("\x04")
        terminal.wait_for("there is a job; Ctrl-D again leaves")
        at_prompt(terminal)
        terminal.type("\x04")
        assert terminal.wait_exit() == 0
    for pid in home.processes():  # bash leaves it running, as it does in any terminal
        os.kill(pid, signal.SIGTERM)
    home.wait_no_process()


@pytest.mark.parametrize("program", BASH_AND_DASH)
@pytest.mark.parametrize(("leaves", "status"), [("\x04", 148), ("exit 4\r", 4)])
def test_a_stopped_job_is_spoken_of_once(home: Home, program: str, leaves: str, status: int) -> None:
    with shell(home, program) as terminal:
        terminal.type("sleep 100\r")
        wait(lambda: _running(home, "sleep", in_front=True), "sleep")
        terminal.type("\x1a")
        terminal.wait_for("[148]")
        terminal.type(leaves)
        terminal.wait_for("there is a job" if leaves == "\x04" else "stopped jobs")
        at_prompt(terminal)
        terminal.type(leaves)
        assert terminal.wait_exit() == status
    home.wait_no_process()


def test_the_users_own_files_and_hooks_are_read(home: Home) -> None:
    (home.path / ".bashrc").write_text(
        "alias hi='echo from the alias'\nPROMPT_COMMAND='seen=$((seen+1))'\nPS1='their prompt'\n"
    )
    with shell(home) as terminal:
        enter(terminal, "hi", "from the alias")
        enter(terminal, "PROMPT_COMMAND= PS1=other; echo c''hanged", "changed")
        enter(terminal, "echo seen $((seen > 1))", "seen 1")
        enter(terminal, "exec 2>/dev/null; echo qui''et", "quiet")
        enter(terminal, "set -e; echo str''ict", "strict")
        assert "their prompt" not in terminal.screen.text()


def test_a_terminal_that_is_gone_ends_it(home: Home) -> None:
    with shell(home) as terminal:
        terminal.type("sleep 100\r")
        wait(lambda: _running(home, "sleep"), "sleep")
        terminal.pty.signal_session(signal.SIGHUP)
        assert terminal.wait_exit() == 129
    home.wait_no_process()


# --- agents -------------------------------------------------------------------------------------------------


def test_agents_in_a_terminal(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    with shell(home) as terminal:
        enter(terminal, "@a --return say **bold** and `code`", "a: bold and code")
        assert b"\x1b[1mbold\x1b[m" in terminal.raw
        enter(terminal, "@a choose red|green --return", "answer:")
        assert "2. green" in terminal.screen.text()
        enter(terminal, "green", "a: You chose: green")
        enter(terminal, "@a just tell", "sent ")
        enter(terminal, "@b hi", "no agent named")
        terminal.wait_for("[3]")
        enter(terminal, "echo st-$?", "st-3")
        terminal.type("@a --return choose red|blue\r")
        terminal.wait_for("2. blue")
        terminal.type("\x03")
        terminal.wait_for("Cancel the task?")
        terminal.type("y\r")
        terminal.wait_for("canceled")
        terminal.wait_for("[130]")
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
        enter(terminal, "clear", "synapse>")
        terminal.type("@all --return silent 60 x\r")
        wait(lambda: home.agents()["a"]["status"] == "PROCESSING", "the turn")
        terminal.type("\x03")
        enter(terminal, "", "Cancel the task?")
        terminal.wait_for("a goes on: `synapse task ")
        enter(terminal, "echo st-$?", "st-130")


def test_completion_of_names_flags_and_what_was_sent(home: Home) -> None:
    home.run("start", "dummy", "--name", "reviewer")
    history = home.path / "synapse" / "shell_history"
    history.write_text("@reviewer look at the parser\n")
    with shell(home) as terminal:
        terminal.type("@re")
        terminal.wait_for("dummy, ")
        terminal.type("\t")
        terminal.wait_for("> @reviewer ")
        terminal.type("--r")
        terminal.wait_for("wait and show")
        terminal.type("\t")
        terminal.wait_for("> @reviewer --return ")
        terminal.type("lo\t")
        terminal.wait_for("> @reviewer --return look at the parser")
        terminal.type("\x03")
        terminal.wait_for("[130]")
        enter(terminal, "@reviewer --no-wait say this", "sent ")
    assert history.read_text().endswith("\n@reviewer --no-wait say this\n")


# --- without a terminal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", SHELLS)
def test_a_script(home: Home, program: str) -> None:
    code = "$status" if program.endswith("fish") else "$?"
    script = (
        f"cd /usr\npwd\nfalse\necho st {code}\necho 'two\nlines'\n@nobody hi\necho st {code}\ncat\nrest\n"
    )
    done = home.run("shell", input=script, SHELL=program)
    assert done.stdout == "/usr\nst 1\ntwo\nlines\nst 3\nrest\n"
    assert done.stderr.count("\n") == 1 and "no agent named" in done.stderr
    assert home.run("shell", input="false\nexit", SHELL=program, check=False).returncode == 1


def test_one_line_and_its_status(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    done = home.run("shell", "-c", "@a --return say **raw**")
    assert (done.stdout, done.stderr) == ("**raw**\n", "")
    assert home.run("shell", "-c", "exit 3", check=False).returncode == 3
    assert (
        home.run("shell", "-c", "trap 'echo bye' EXIT; (exit 4)", SHELL=BASH, check=False).stdout == "bye\n"
    )
    assert home.run("shell", input="@a --return say b\n", SYNAPSE_RESPONSE_TIMEOUT="20").stdout == "b\n"
    done = home.run("shell", "-c", "@a", check=False)
    assert done.returncode == 2 and "there is no message for a" in done.stderr


def test_what_can_be_wrong_around_it(home: Home) -> None:
    done = home.run("shell", "-c", "echo ok", SHELL="/usr/bin/no-such-shell")
    assert done.stdout == "ok\n"
    assert home.run("shell", "--help").stdout.startswith("usage: synapse-shell")
    assert home.run("shell", "--nonsense", check=False).returncode == 2
    with shell(home, TERM="dumb", SYNAPSE_HOME="/proc/nowhere") as terminal:
        enter(terminal, "printf '\\303\\050\\n' | od -An -tx1", "c3 28 0a")
        terminal.type(b"printf '%s' '\xff' | od -An -tx1\r")
        terminal.wait_for(" ff\n")
        terminal.type("\x04")
        assert terminal.wait_exit() == 0
        assert b"\x1b" not in terminal.raw


def test_the_history_is_private_and_the_prompt_a_setting(home: Home) -> None:
    terminal = home.terminal(
        "shell", SHELL=BASH, SYNAPSE_SHELL_PROMPT="{cwd} {status}$ ", NO_COLOR="1", cols=20
    )
    with terminal:
        terminal.wait_for("~/work 0$")
        enter(terminal, "false", "~/work 1$")
        terminal.type(" secret=1\rexit\r")
        terminal.wait_exit()
        assert b"\x1b[3" not in terminal.raw
    history = home.path / "synapse" / "shell_history"
    assert history.read_text() == "false\nexit\n"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
