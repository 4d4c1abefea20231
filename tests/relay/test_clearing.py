"""A line for another agent is removed from real programs whose clear keys nobody has measured: nothing stays
that the program could take as text, and the next line is what the human types."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from synapse.relay import wire
from synapse.testing import Terminal
from tests.support.home import Home, wait

HOST = Path(__file__).parents[1] / "support" / "relay_host.py"
LINE = "@codex please look at this"
LEFT = "\x1b[D"
READS = "while True: print('MARK', ascii(input('P> ')))"
TOOLKIT = "from prompt_toolkit import prompt as input\n"
PYTHON = sys.executable
PROGRAMS = {
    "input": [PYTHON, "-c", READS],
    "dash": ["dash", "-i"],
    "input with readline": [PYTHON, "-c", f"import readline\n{READS}"],
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "bash vi": ["bash", "--norc", "--noprofile", "-o", "vi", "-i"],
    "zsh": ["zsh", "-f", "-o", "emacs", "-i"],
    "zsh vi": ["zsh", "-f", "-o", "vi", "-i"],
    "fish": ["fish", "-N", "-C", "function fish_prompt; echo -n 'P> '; end"],
    "prompt_toolkit": [PYTHON, "-c", TOOLKIT + READS],
    "prompt_toolkit vi": [PYTHON, "-c", TOOLKIT + READS.replace("'P> '", "'P> ', vi_mode=True")],
}
KERNEL = ("input", "dash")  # the kernel edits their lines, and knows no cursor keys


def wrapped(home: Home, program: str) -> Terminal:
    argv = PROGRAMS[program]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    home.profile("it", f"command: {json.dumps(argv)}\n")
    folder = home.path / "relay"
    folder.mkdir()
    (folder / "policy").write_text("take")
    (folder / "names").write_text('{"names": ["codex"]}')
    env = {**home.env, "PYTHONPATH": str(HOST.parents[2]), "PS1": "P> "}
    terminal = Terminal([PYTHON, "-P", str(HOST), "relay", str(folder), "it"], env)
    terminal.wait_for("P>")
    wait(lambda: (folder / "frames").exists() and (folder / "frames").read_text(), "the host")
    return terminal


def sent(home: Home) -> int:
    rows = (home.path / "relay" / "frames").read_text().splitlines()
    return sum(json.loads(row)["kind"] == wire.COMMAND for row in rows)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_next_line_is_what_was_typed(home: Home, program: str) -> None:
    with wrapped(home, program) as terminal:
        back = [0] if program in KERNEL else [0, 4, len(LINE)]  # characters behind the cursor
        for number, behind in enumerate(back, 1):
            terminal.type(LINE)
            terminal.wait_for(LINE)
            terminal.type(LEFT * behind)
            column = 3 + len(LINE) - behind
            terminal.wait(lambda: terminal.screen.cursor[0] == column, "the cursor")  # noqa: B023
            terminal.type("\r")
            wait(lambda: sent(home) == number, "the line")  # noqa: B023
            terminal.wait_until_gone(LINE)
            terminal.wait(lambda: terminal.screen.cursor[0] == 3, "the empty prompt")
            word = f"word{number}"
            terminal.type(f"echo {word}\r")
            answer = f"MARK 'echo {word}'" if PYTHON in PROGRAMS[program] else f"\n{word}"
            terminal.wait_for(answer)
            # prompt_toolkit may have drawn blank rows below it already
            terminal.wait(lambda: terminal.screen.text().rstrip().endswith("P>"), "the next prompt")
        assert "not found" not in terminal.screen.text()
