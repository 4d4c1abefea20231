"""`synapse <profile>` where a standard stream is no terminal."""

from __future__ import annotations

import pytest

from tests.support.home import SYNAPSE, Home

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
