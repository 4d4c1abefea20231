"""The reference agent on a real terminal, in both its modes."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from pyghostty import Terminal

COMMAND = [sys.executable, "-m", "synapse.dummy_agent"]
DEADLINE = 10.0
IDLE = "? for shortcuts"
BUSY = "esc to interrupt"


class Agent:
    """The agent as the leader of its own terminal, and a screen that shows what it writes."""

    def __init__(self, *arguments: str, columns: int = 80, rows: int = 24) -> None:
        self.master, self.slave = os.openpty()
        self.screen = Terminal(columns, rows)
        self.output = b""
        self.arrivals: list[float] = []
        self._set_size(columns, rows)
        self.modes = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def __enter__(self) -> "Agent":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            try:
                os.close(descriptor)
            except OSError:
                pass  # closed by the test
        self.screen.close()

    @property
    def text(self) -> str:
        return str(self.screen.text())

    @property
    def lines(self) -> list[str]:
        """Everything said so far, scrollback included."""
        return [row.rstrip() for row in str(self.screen.contents()).split("\n")]

    @property
    def titles(self) -> list[str]:
        return [title.decode() for title in re.findall(rb"\x1b\]0;([^\x07]*)\x07", self.output)]

    def send(self, keys: str | bytes) -> None:
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def read(self, timeout: float) -> bool:
        """Whether something came."""
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.arrivals.append(time.monotonic())
        self.output += data
        self.screen.feed(data)
        return bool(data)

    def until(self, condition: str | Callable[[], Any]) -> None:
        """Reads until the screen shows it, or the condition holds."""
        holds = condition if callable(condition) else lambda: condition in self.text
        deadline = time.monotonic() + DEADLINE
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"not seen: {condition!r}\n{self.text}")
            self.read(0.05)

    def say(self, message: str) -> None:
        self.send(f"{message}\r")

    def idle(self) -> None:
        self.until(lambda: IDLE in self.text.split("\n")[-1])

    def painted(self) -> None:
        """Reads to the end of a frame, which comes in pieces: only then the cursor is where it belongs."""
        self.until(lambda: self.output.endswith(b"\x1b[?25h"))

    def resize(self, columns: int, rows: int) -> None:
        self.painted()  # what is left of a frame, laid out for the old size, would go astray in the new one
        self.screen.resize(columns, rows)
        self._set_size(columns, rows)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def ends(self) -> int:
        """The exit status, once the agent has ended; what it still says is read."""
        self.until(lambda: self.process.poll() is not None)
        while self.read(0):
            pass
        assert self.process.returncode is not None
        return self.process.returncode

    def restored(self) -> bool:
        return termios.tcgetattr(self.slave) == self.modes and not self.screen.mode(2004)


@pytest.fixture
def line() -> Iterator[Agent]:
    with Agent() as agent:
        agent.until("dummy>")
        yield agent


@pytest.fixture
def tui() -> Iterator[Agent]:
    with Agent("--tui") as agent:
        agent.idle()
        yield agent


def _titled(agent: Agent, count: int) -> bool:
    return len(agent.titles) >= count


def piped(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=text, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


class TestLineMode:
    def test_it_answers_with_what_it_was_sent(self, line: Agent) -> None:
        line.say("hello there")
        line.until("You said: hello there\ndummy>")
        assert "dummy> hello there" in line.text

    def test_it_works_on_a_pipe(self) -> None:
        done = piped("say one\nlines 2\nconfirm\nmaybe\nno\npassword\nsecret\n[A2A:t1:me] a2a-mark\nlast")
        assert done.returncode == 0
        assert done.stdout.endswith(
            "dummy> one\n"
            "dummy> line 1\nline 2\n"
            "dummy> Do you want to proceed? (y/n): Do you want to proceed? (y/n): Declined.\n"
            "dummy> Password: \nGot a password of 6 characters.\n"
            "dummy> [A2A:t1:me]\n"
            "dummy> You said: last\n"
            "dummy> \n"
        )

    def test_ctrl_c_interrupts_the_answer(self, line: Agent) -> None:
        line.say("pause 60 left right")
        line.until("\nleft")
        line.send("\x03")
        line.until("^C interrupted\ndummy>")

    def test_ctrl_c_twice_at_the_prompt_quits(self, line: Agent) -> None:
        line.send("\x03")
        line.until(lambda: line.text.count("dummy>") == 2)
        line.send("\x03")
        assert line.ends() == 130

    def test_ctrl_d_quits(self, line: Agent) -> None:
        line.send("\x04")
        assert line.ends() == 0

    def test_questions(self, line: Agent) -> None:
        line.say("confirm Delete it?")
        line.until("Delete it? (y/n):")
        line.say("y")
        line.until("Confirmed.")
        line.say("choose red|green")
        line.until("1. red\n2. green\nSelect [1/2]:")
        line.say("2")
        line.until("You chose: green")
        line.say("ask Your name")
        line.until("Your name:")
        line.say("Ann")
        line.until("You answered: Ann")

    def test_a_password_is_not_echoed(self, line: Agent) -> None:
        line.say("password")
        line.until("Password:")
        line.say("hunter2")
        line.until("Got a password of 7 characters.\ndummy>")
        assert b"hunter2" not in line.output
        assert line.restored()

    def test_sigterm_at_a_password_restores_the_echo(self, line: Agent) -> None:
        line.say("password")
        line.until("Password:")
        line.process.terminate()
        assert line.ends() == 143
        assert line.restored()

    def test_lines_come_one_by_one(self, line: Agent) -> None:
        line.say("lines 3 every 0.1")
        line.until("\nline 1")
        first = line.arrivals[-1]
        line.until("line 2\nline 3\ndummy>")
        assert line.arrivals[-1] - first > 0.15

    def test_what_it_knows_of_itself(self, line: Agent) -> None:
        for message, answer in [
            ("size", "80x24"),
            ("pid", str(line.process.pid)),
            ("args", "[]"),
            ("cwd", str(Path.cwd())),
            ("env SHELLS", "SHELLS is not set"),
        ]:
            line.say(message)
            line.until(f"\n{answer}\ndummy>")

    @pytest.mark.parametrize(
        ("message", "status"), [("exit 7", 7), ("/exit", 0), ("crash", 1), ("die 9", -9)]
    )
    def test_ways_out(self, line: Agent, message: str, status: int) -> None:
        line.say(message)
        assert line.ends() == status
        assert ("RuntimeError: asked to crash" in line.text) == (message == "crash")

    def test_refusing_trust_ends_it(self) -> None:
        assert piped("2\n", "--trust").returncode == 1
        assert "dummy> " in piped("1\n", "--trust").stdout

    def test_a_flood_is_whole(self) -> None:
        said = piped("flood 2\n").stdout
        assert said.count("\n") == 31250 + 3
        assert "flooded 31250 lines" in said


class TestTui:
    def test_it_answers_with_what_it_was_sent(self, tui: Agent) -> None:
        tui.say("hello 日本")
        tui.until("● You said: hello 日本")
        tui.idle()
        assert tui.lines[-8:] == [
            "❯ hello 日本",
            "",
            "● You said: hello 日本",
            "",
            "─" * 80,
            "❯",
            "─" * 80,
            f"  {IDLE}",
        ]

    def test_the_cursor_is_in_the_composer(self, tui: Agent) -> None:
        tui.send("ab日本")
        tui.until("❯ ab日本")
        tui.painted()
        assert tui.screen.cursor == (8, tui.text.split("\n").index("❯ ab日本"))
        tui.send("\x1b[D")
        tui.until(lambda: tui.screen.cursor[0] == 6)

    def test_busy_is_told_from_idle(self, tui: Agent) -> None:
        assert tui.titles == ["✳ dummy"]
        tui.say("silent 1.2 done")
        tui.until("✻ Working… (1s · esc to interrupt)")
        assert tui.text.split("\n")[-1].strip() == BUSY
        tui.until("● done")
        tui.idle()
        assert tui.titles == ["✳ dummy", "⠂ dummy", "⠐ dummy", "✳ dummy"]

    @pytest.mark.parametrize("key", ["\x1b", "\x03", "\x1b[27u", "\x1b[99;5u"])
    def test_an_answer_is_interrupted(self, tui: Agent, key: str) -> None:
        tui.say("pause 60 left right")
        tui.until("● left")
        tui.send("draft")
        tui.send(key)
        tui.until("⎿ Interrupted by user")
        tui.idle()
        assert "❯ draft" in tui.text
        tui.say(" sent")
        tui.until("You said: draft sent")

    def test_a_message_sent_while_busy_waits_for_its_turn(self, tui: Agent) -> None:
        tui.say("silent 0.3 first")
        tui.say("say second")
        tui.send("draft")
        tui.until("● second")
        tui.idle()
        said = [row for row in tui.lines if row.startswith(("●", "❯"))]
        assert said == ["❯ silent 0.3 first", "● first", "❯ say second", "● second", "❯ draft"]

    def test_deaf_to_interrupts_where_told(self, tui: Agent) -> None:
        tui.say("ignore-interrupts 0.5 done")
        tui.until(BUSY)
        tui.send("\x03")
        tui.send("\x1b")
        tui.until("● done")
        assert "Interrupted" not in tui.text

    def test_frozen_writes_nothing_at_all(self, tui: Agent) -> None:
        tui.say("frozen 1.3 done")
        tui.until(BUSY)
        tui.send("typed")
        tui.until("● done")
        gaps = [b - a for a, b in zip(tui.arrivals, tui.arrivals[1:], strict=False)]
        assert max(gaps) > 1.2
        tui.until("❯ typed")

    def test_idle_writes_nothing_and_never_wakes(self, tui: Agent) -> None:
        status = Path(f"/proc/{tui.process.pid}/status")

        def woken() -> list[str]:
            return [row for row in status.read_text().split("\n") if "ctxt_switches" in row]

        while tui.read(0.2):
            pass
        before = woken() if status.exists() else []
        assert not tui.read(0.5)
        assert before == (woken() if status.exists() else [])

    def test_a_permission_menu(self, tui: Agent) -> None:
        tui.send("kept")
        tui.until("❯ kept")
        tui.send("\x15confirm Delete it?\r")
        tui.until("Delete it?\n❯ 1. Yes\n  2. No\n\nEsc to cancel")
        assert tui.titles[-1] == "✳ dummy"
        assert not tui.screen.mode(25)
        tui.send("\x1b[B")
        tui.until("❯ 2. No")
        tui.send("\r")
        tui.until("● Declined.")
        tui.idle()

    @pytest.mark.parametrize(
        ("key", "answer"), [("1", "Confirmed."), ("y", "Confirmed."), ("n", "Declined."),
                            ("\r", "Confirmed."), ("\x1b", "Declined."), ("\x03", "Interrupted by user")],
    )  # fmt: skip
    def test_keys_that_answer_it(self, tui: Agent, key: str, answer: str) -> None:
        tui.say("confirm")
        tui.until("Esc to cancel")
        tui.send(key)
        tui.until(answer)
        tui.idle()

    def test_questions(self, tui: Agent) -> None:
        tui.say("choose red|green|blue")
        tui.until("  3. blue")
        tui.send("\x1b[A\r")
        tui.until("● You chose: blue")
        tui.say("ask Your name?")
        tui.until("Your name?\n❯")
        tui.say("アン")
        tui.until("● You answered: アン")
        tui.say("password")
        tui.until("Password:")
        tui.say("hunter2")
        tui.until("● Got a password of 7 characters.")
        assert b"hunter2" not in tui.output

    def test_a_long_paste(self, tui: Agent) -> None:
        rows = [f"row {n}" for n in range(62)]
        tui.send("\x1b[200~" + "\r".join(rows) + "\x1b[201~")
        tui.until("❯ [Pasted text #1 +61 lines]")
        tui.send("\r")
        tui.until("  row 61\n\n─")
        tui.idle()
        answer = tui.lines.index("● You said: row 0")
        assert tui.lines[answer + 1 : answer + 62] == [f"  {row}" for row in rows[1:]]

    def test_kitty_keys(self, tui: Agent) -> None:
        tui.send("gone\x1b[117;5uone\x1b[13;2utwo")
        tui.until("❯ one\n  two\n")
        tui.send("\x1b[13u")
        tui.until("● You said: one\n  two\n")

    def test_the_history(self, tui: Agent) -> None:
        tui.say("say first")
        tui.until("● first")
        tui.idle()
        tui.send("\x1b[A")
        tui.until(lambda: tui.text.count("❯ say first") == 2)

    def test_ctrl_c_at_the_prompt_clears_then_quits(self, tui: Agent) -> None:
        tui.send("text")
        tui.until("❯ text")
        tui.send("\x03")
        tui.until(lambda: "❯ text" not in tui.text)
        tui.send("\x03")
        tui.until("Press Ctrl-C again to exit")
        tui.send("\x03")
        assert tui.ends() == 130
        assert tui.restored()

    def test_a_long_answer_is_whole_in_the_scrollback(self, tui: Agent) -> None:
        tui.say("lines 200")
        tui.until("  line 200\n")
        tui.idle()
        start = tui.lines.index("● line 1")
        assert tui.lines[start + 1 : start + 200] == [f"  line {n}" for n in range(2, 201)]

    def test_words_are_wrapped_whole(self) -> None:
        with Agent("--tui", "--delay", "0.001", columns=20, rows=12) as agent:
            agent.idle()
            agent.say("say the quick brown fox jumps")
            agent.until("● the quick brown\n  fox jumps\n")

    def test_a_resize_repaints(self, tui: Agent) -> None:
        tui.say("hello")
        tui.until("● You said: hello")
        tui.send("draft")
        tui.until("❯ draft")
        for columns, rows in [(40, 20), (100, 30), (25, 8), (80, 24)]:
            tui.resize(columns, rows)
            tui.until(f"\n{'─' * columns}\n  {IDLE}")
            tui.until(lambda: tui.text.count("❯ draft") == 1 and tui.text.count("─\n") == 2)
        tui.send("\x15size\r")
        tui.until("● 80x24")

    def test_any_size_will_do(self, tui: Agent) -> None:
        for size in [(1, 1), (2, 1), (1, 5), (3, 2), (5, 3)]:
            tui.resize(*size)
            seen = len(tui.titles)
            for keys, titles in [("日本 and more\r", 2), ("confirm\r", 4), ("1", 6)]:
                tui.send(keys)
                tui.until(partial(_titled, tui, seen + titles))
        tui.resize(80, 24)
        tui.say("say still here")
        tui.until("● still here")

    def test_the_alternate_screen(self) -> None:
        with Agent("--alt-screen", columns=40, rows=10) as agent:
            agent.idle()
            assert agent.screen.mode(1049)
            agent.say("lines 50")
            agent.until("  line 50\n\n─")
            agent.idle()
            assert agent.lines[0].strip() == "line 46"
            agent.resize(30, 14)
            agent.until("─" * 30)
            agent.until("line 42\n")
            agent.send("\x04")
            assert agent.ends() == 0
            assert agent.restored() and not agent.screen.mode(1049)

    def test_trust_is_asked_for_first(self) -> None:
        with Agent("--tui", "--trust") as agent:
            agent.until("Do you trust the files in this folder?\n❯ 1. Yes, proceed")
            assert IDLE not in agent.text
            agent.send("\r")
            agent.idle()
        with Agent("--tui", "--trust") as agent:
            agent.until("  2. No, exit")
            agent.send("2")
            assert agent.ends() == 1

    def test_what_is_typed_during_startup_is_kept(self) -> None:
        with Agent("--tui", "--startup", "0.4") as agent:
            agent.until(lambda: not termios.tcgetattr(agent.slave)[3] & termios.ECHO)
            agent.say("early")
            agent.until("You said: early")
            assert agent.output.startswith(b"\x1b[22;0t\x1b[?2004h")

    def test_raw_bytes_and_titles(self, tui: Agent) -> None:
        tui.say("bytes 1b5d393b6869071b5b33316d72656421")
        tui.until("\nred!\n")
        assert b"\x1b]9;hi\x07\x1b[31mred!" in tui.output
        tui.say("title ◇ Ready")
        tui.until("● Title set.")
        tui.idle()
        assert tui.titles[-1] == "◇ Ready"

    def test_a_flood_can_be_interrupted(self, tui: Agent) -> None:
        tui.say("flood 1000")
        tui.until("0000")
        tui.send("\x1b")
        tui.until("⎿ Interrupted by user")
        tui.idle()

    @pytest.mark.parametrize(("message", "status"), [("exit 7", 7), ("/exit", 0), ("crash", 1)])
    def test_ways_out_restore_the_terminal(self, tui: Agent, message: str, status: int) -> None:
        assert termios.tcgetattr(tui.slave) != tui.modes
        tui.say(message)
        assert tui.ends() == status
        assert tui.restored()
        assert tui.screen.mode(25)
        assert tui.output.rindex(b"\x1b]0;\x07\x1b[23;0t") > tui.output.rindex("✳ dummy".encode())
        assert IDLE not in tui.text
        assert ("RuntimeError: asked to crash" in tui.text) == (message == "crash")

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_signals_restore_the_terminal(self, tui: Agent, number: signal.Signals) -> None:
        tui.say("silent 60")
        tui.until(BUSY)
        tui.process.send_signal(number)
        assert tui.ends() == 128 + number
        assert tui.restored()

    def test_die_restores_nothing(self, tui: Agent) -> None:
        tui.say("die 15")
        assert tui.ends() == -15
        assert not tui.restored()

    def test_it_leaves_when_nobody_reads(self, tui: Agent) -> None:
        tui.say("flood 10")
        tui.until("0000")
        tui.process.terminate()
        assert tui.process.wait(DEADLINE) == 143
        assert termios.tcgetattr(tui.slave) == tui.modes

    def test_it_leaves_with_its_terminal(self, tui: Agent) -> None:
        os.close(tui.slave)
        os.close(tui.master)
        assert tui.process.wait(DEADLINE) == 129

    def test_it_can_be_told_to_stay(self) -> None:
        with Agent("--tui", "--ignore-hup") as agent:
            agent.idle()
            agent.process.send_signal(signal.SIGHUP)
            agent.process.terminate()
            agent.say("say still here")
            agent.until("● still here")

    def test_ctrl_z_gives_the_terminal_back_and_takes_it_again(self, tui: Agent) -> None:
        tui.send("draft\x1a")
        _, status = os.waitpid(tui.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        while tui.read(0):
            pass
        assert tui.restored()
        tui.process.send_signal(signal.SIGCONT)
        tui.until("❯ draft")
        tui.until(lambda: tui.screen.mode(2004))
        tui.idle()
        assert tui.text.count("❯ draft") == 1
        tui.say(" sent")
        tui.until("You said: draft sent")

    def test_without_a_terminal_it_says_so(self) -> None:
        done = piped("", "--tui")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1 and "needs a terminal" in done.stderr


def test_help_and_version() -> None:
    assert "ignore-interrupts SECONDS" in piped("", "--help").stdout
    assert re.fullmatch(r"dummy \d+\.\d+\.\d+\n", piped("", "--version").stdout)
