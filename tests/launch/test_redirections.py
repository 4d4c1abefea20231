"""`synapse <profile>` where a standard stream is no terminal."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.home import SYNAPSE, Home, wait

OURS = " ".join(SYNAPSE)
SCRIPT = 'echo "out $1 ${SYNAPSE_AGENT_NAME:-bare}"; echo err >&2; test -t 2 && echo a terminal'


@pytest.fixture
def says(home: Home) -> Home:
    (home.work / "says.sh").write_text(SCRIPT + "\ntest -t 0 || cat\nexit 4\n")
    home.profile("says", "command: [sh, says.sh]\nargs: [one]\n")
    return home


def shown(home: Home, line: str) -> str:
    with home.program(["sh", "-c", f'{line}; echo "status $?"']) as terminal:
        terminal.wait_for("status")
        terminal.wait_exit()
        return terminal.screen.text()


def test_a_standard_error_that_is_no_terminal_is_the_agents(says: Home) -> None:
    text = shown(says, f"{OURS} says 2>file")
    assert "out one says" in text and "err" not in text and "status 4" in text
    assert (says.work / "file").read_text() == "err\n"


def test_a_pipe_at_standard_error_ends_with_the_agent(says: Home) -> None:
    assert "cat err\n" in shown(says, f'{{ {OURS} says 2>&1 >/dev/tty | sed "s/^/cat /"; }}')


@pytest.mark.parametrize(
    "line", ["{} says >file", "{} says | cat", "echo given | {} says", "{} says </dev/null"]
)
def test_without_a_terminal_the_program_runs_bare(says: Home, line: str) -> None:
    text = shown(says, line.format(OURS))
    text += (says.work / "file").read_text() if "file" in line else ""
    assert "out one bare" in text and "err" in text
    assert text.count("is not a terminal, so sh runs without Synapse") == 1
    assert ("given" in text) == ("given" in line)
    assert says.log("says") == ""


def test_nothing_is_said_where_no_human_would_read_it(says: Home) -> None:
    done = says.run("says", check=False, input="given")
    assert (done.returncode, done.stdout, done.stderr) == (4, "out one bare\ngiven", "err\n")


@pytest.mark.parametrize("option", [("--name", "a"), ("--port", "8765"), ("--host", "::1"), ("--token", "t")])
def test_an_option_for_an_agent_needs_a_terminal(says: Home, option: tuple[str, str]) -> None:
    done = says.run("says", *option, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "synapse: standard input is not a terminal, which `synapse says` needs: "
        "`synapse start says` runs it in the background.\n"
    )


def holders(home: Home, path: Path) -> list[list[str]]:
    """The commands that have the file open."""
    found = []
    for pid in home.processes():
        with suppress(OSError):
            if any(os.path.samefile(fd, path) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.exists()):
                found.append(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1])
    return found


def test_another_descriptor_is_the_agents_and_nobody_elses(home: Home) -> None:
    """A lock that the shell has taken would else be held until the host has ended, a pipe open as long."""
    (home.work / "lock").write_text("from the file\n")
    home.profile("reads", "command: [sh, -c, 'read line <&9; echo $line; exec cat']\n")
    with home.program(["sh", "-c", f"exec {OURS} reads 9<lock"]) as terminal:
        terminal.wait_for("from the file")
        wait(lambda: "is here" in home.log("reads"), "host")
        assert holders(home, home.work / "lock") == [["cat"]]
        terminal.type("\x04")
        terminal.wait_exit()


def test_an_agent_in_the_background_has_nothing_of_its_starter(home: Home) -> None:
    started = ["sh", "-c", f"{OURS} start dummy --name a 9>lock >/dev/null"]
    subprocess.run(started, env=home.env, cwd=home.work, check=True, stdin=subprocess.DEVNULL)
    assert set(home.agents()) == {"a"}
    assert holders(home, home.work / "lock") == []
