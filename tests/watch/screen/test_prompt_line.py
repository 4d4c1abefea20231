"""What is typed at the prompt of programs of which nothing is known, in real terminals."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse.base import processes
from synapse.terminal.screen import make_screen
from synapse.testing import Terminal
from synapse.watch.screen.composer import ABSENT, DRAFT, EMPTY, OTHER_PROGRAM, UNKNOWN, Seen
from synapse.watch.screen.prompt_line import PromptLine

needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name}")
    for name in ("bash", "vi", "less")
}


class Shell:
    """bash with the prompt `top $`, and what Synapse sees of it."""

    def __init__(self, folder: Path) -> None:
        (folder / "rc").write_text("PS1='top $ '\n")
        env = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8"}
        self.terminal = Terminal(["bash", "--rcfile", str(folder / "rc"), "-i"], env, 80, 24)
        self.line = PromptLine()
        self.terminal.wait_for("top $")
        assert self.seen().state == EMPTY

    def type(self, keys: str, shows: str) -> Seen:
        """Type keys, of which Enter submits, and wait for what they show at the end of the screen."""
        for key in keys:
            self.line.key()
            if key == "\r":
                self.line.submitted()
        self.terminal.type(keys)
        self.terminal.wait(lambda: self.terminal.screen.text().rstrip().endswith(shows), shows)
        return self.seen()

    def seen(self) -> Seen:
        """As the observer does it."""
        if processes.has_terminal(self.terminal.pid) is False:
            return OTHER_PROGRAM
        return self.line.read(self.terminal.screen, ready=True)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    with made.terminal:
        yield made
        made.terminal.close()  # bash may be slow to act on a signal


@needs["bash"]
def test_text_behind_the_prompt_is_a_draft(shell: Shell) -> None:
    assert shell.type("echo hi there", "there").text == "echo hi there"
    assert shell.type("\x15", "top $").state == EMPTY  # Ctrl-U


@needs["bash"]
def test_a_draft_that_wraps_is_one_line(shell: Shell) -> None:
    text = "echo " + "日本語 words " * 9 + "end"
    assert shell.type(text, "end").text == text


@needs["bash"]
@pytest.mark.parametrize("keys", ["\x1b", "\x1b[A\x1b[B", "\x1b[D\x1b[C", "x\x7f", "\x03"])
def test_keys_that_leave_the_prompt_empty(shell: Shell, keys: str) -> None:
    shell.type(keys, "top $")
    shell.terminal.wait(lambda: shell.seen().state == EMPTY, "an empty prompt")


@needs["bash"]
def test_another_folder_in_the_prompt_is_the_same_prompt(shell: Shell) -> None:
    shell.type("PS1='~/elsewhere $ '\r", "elsewhere $")
    assert shell.seen().state == EMPTY
    assert shell.type("ls", "$ ls").text == "ls"


@needs["bash"]
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("cat > file <<END\r", "\n>"),
        ("echo 'one\r", "\n>"),
        ("read -s -p 'Password: '\r", "Password:"),
        ("cat\r", "cat"),
        pytest.param("vi\r", "~", marks=needs["vi"]),
        pytest.param("less rc\r", "PS1", marks=needs["less"]),
    ],
)
def test_another_program_or_prompt(shell: Shell, keys: str, shown: str, tmp_path: Path) -> None:
    shell.type(f"cd {tmp_path}; clear\r", "top $")
    shell.line.submitted()
    shell.terminal.type(keys)
    shell.terminal.wait(lambda: shown in shell.terminal.screen.text(), shown)
    shell.terminal.wait(lambda: shell.seen().state == ABSENT, "another program or prompt")


def test_a_repl_and_its_continuation() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed(b">>> ")
    assert line.read(screen, ready=True).state == EMPTY
    line.key()
    screen.feed(b"def f():")
    assert line.read(screen, ready=True).text == "def f():"
    line.submitted()
    screen.feed(b"\r\n... ")
    assert line.read(screen, ready=True).state == ABSENT
    line.submitted()
    screen.feed(b"\r\n>>> ")
    assert line.read(screen, ready=True).state == EMPTY


def test_what_the_kernel_echoes_of_other_keys_is_not_text() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed(b"name> ")
    line.read(screen, ready=True)
    line.key()
    screen.feed(b"hi^[[A")
    assert (line.read(screen, True).state, line.read(screen, True).text) == (DRAFT, None)


def test_keys_before_the_first_prompt_leave_it_unknown() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed(b"Loading")
    assert line.read(screen, ready=False).state == EMPTY  # nobody has typed
    line.key()
    screen.feed(b"\r\n> he")
    assert line.read(screen, ready=True).state == UNKNOWN


@pytest.mark.parametrize("output", ["Loading the model", "Loading…", "Listening on 8080", "Please wait..."])
def test_output_that_pauses_is_not_a_prompt(output: str) -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed(output.encode())
    assert line.read(screen, ready=True).state == EMPTY
    line.submitted()
    screen.feed(b"\r\n> ")
    assert line.read(screen, ready=True).state == EMPTY


def test_the_git_state_at_the_end_of_a_prompt_may_change() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed("➜ proj git:(main) ".encode())
    line.read(screen, ready=True)
    line.submitted()
    screen.feed("\r\n➜ proj git:(main) ✗ ".encode())
    assert line.read(screen, ready=True).state == EMPTY


def test_a_suggestion_behind_the_prompt_is_not_a_draft() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed(b"$ \x1b[90mls -l\x1b[m\x1b[3G")
    assert line.read(screen, ready=True).state == EMPTY
    line.key()
    assert line.read(screen, ready=True).state == EMPTY


def test_the_alternate_screen_is_another_program() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed(b"$ ")
    line.read(screen, ready=True)
    screen.feed(b"\x1b[?1049h\x1b[Hnotes $ ")
    assert line.read(screen, ready=True).state == ABSENT
    screen.feed(b"\x1b[?1049l")
    assert line.read(screen, ready=True).state == EMPTY


def test_a_program_that_runs_on_the_alternate_screen_itself() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed("\x1b[?1049h\x1b[5;1H┃ \x1b[38;2;128;128;128mAsk anything\x1b[m\x1b[5;3H".encode())
    assert line.read(screen, ready=True).state == EMPTY
    line.key()
    screen.feed(b"hello\x1b[K")
    assert line.read(screen, ready=True).text == "hello"


def test_a_cursor_that_the_program_draws_itself() -> None:
    screen = make_screen(80, 24)
    line = PromptLine()
    screen.feed(b"\x1b[?25l > \x1b[7m \x1b[0;38;2;108;112;134mType your message\x1b[m\r\n footer\r\n")
    assert line.read(screen, ready=True).state == EMPTY
    line.key()
    screen.feed(b"\x1b[1;4Hhello\x1b[7m \x1b[m\x1b[K\x1b[3;1H")
    assert line.read(screen, ready=True).text == "hello"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_who_has_the_terminal(tmp_path: Path) -> None:
    with Terminal(["sh", "-c", "echo up; read x"], {"PATH": "/usr/bin:/bin"}) as terminal:
        terminal.wait_for("up")
        assert processes.has_terminal(terminal.pid) is True
    assert processes.has_terminal(2**22 + 1) is None


def test_a_line_that_was_typed_before_anybody_looked_is_judged_by_what_is_before_it(shell: Shell) -> None:
    screen = shell.terminal.screen
    shell.type("cat <<END\r@b one", "> @b one")
    assert shell.seen().state == UNKNOWN
    assert "not '>'" in shell.line.is_elsewhere(screen, "@b one")
    shell.type("\rEND\r@b two", "$ @b two")
    assert shell.line.is_elsewhere(screen, "@b two") == ""
    shell.type("\x15PS1='here $ '\r@b three", "$ @b three")
    assert shell.line.is_elsewhere(screen, "@b three") == ""
