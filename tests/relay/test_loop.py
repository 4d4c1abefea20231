"""What a user sees of `synapse <profile>`: nothing. Real PTYs, real signals."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import termios
from pathlib import Path

import pytest

from synapse.base import processes
from tests.support.home import SYNAPSE, Home, hosts, wait

RECORDINGS = Path(__file__).parents[1] / "recordings"

PLAYER = """
import gzip, json, os, sys, termios, tty
tty.setraw(0)
for line in gzip.open(sys.argv[1], "rt"):
    event = json.loads(line)
    if isinstance(event, list) and event[1] == "o":
        os.write(1, event[2].encode())
"""

EATER = """
import os, sys, tty
tty.setraw(0)
os.write(1, b"ready")
data = b""
while not data.endswith(b"<end>"):
    data += os.read(0, 65536)
open(sys.argv[1], "wb").write(data)
"""


def python_profile(home: Home, name: str, program: str) -> None:
    path = home.path / f"{name}.py"
    path.write_text(program)
    home.profile(name, f"command: ['{sys.executable}', '{path}']\n")


@pytest.mark.parametrize("case", ["claude/permission", "codex/ping", "gemini/resize", "codex/inline-long200"])
def test_what_a_recorded_session_writes_is_the_same_byte_for_byte(home: Home, case: str) -> None:
    python_profile(home, "player", PLAYER)
    cast = str(RECORDINGS / case / "session.cast.gz")
    with home.program([sys.executable, str(home.path / "player.py"), cast]) as bare:
        bare.screen.on_reply(None)  # an answer that comes after the end would be echoed
        assert bare.wait_exit() == 0
    with home.terminal("player", cast) as wrapped:
        wrapped.screen.on_reply(None)
        assert wrapped.wait_exit() == 0
    with gzip.open(cast, "rt") as file:
        events = [json.loads(line) for line in file]
    recorded = "".join(e[2] for e in events if isinstance(e, list) and e[1] == "o").encode()
    assert bytes(bare.raw) == recorded
    assert bytes(wrapped.raw[: len(recorded)]) == recorded
    # What follows, if anything, only takes back modes that the recording leaves on.
    assert not wrapped.raw[len(recorded) :].replace(b"\x1b", b"").strip(b"[?0123456789;hlu<>=mr7 8q")


def test_every_byte_typed_reaches_the_agent(home: Home) -> None:
    python_profile(home, "eater", EATER)
    sent = bytes(range(256)) * 300 + "日本語 \x1b[200~paste\r\nmore\x1b[201~".encode() + b"<end>"
    eaten = home.path / "eaten"
    with home.terminal("eater", str(eaten)) as terminal:
        terminal.wait_for("ready")
        terminal.type(sent)
        assert terminal.wait_exit() == 0
    assert eaten.read_bytes() == sent


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.kill(os.getpid(), 11)", 139),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_the_exit_status_is_handed_on(home: Home, program: str, status: int) -> None:
    python_profile(home, "prog", program)
    with home.terminal("prog") as terminal:
        assert terminal.wait_exit() == status


def test_the_agent_has_a_real_controlling_terminal_of_the_right_size(home: Home) -> None:
    python_profile(
        home,
        "look",
        "import os\n"
        "fd = os.open('/dev/tty', os.O_RDWR)\n"
        "print(os.get_terminal_size(fd), os.getpgrp() == os.getpid() == os.tcgetpgrp(fd))",
    )
    with home.terminal("look", cols=97, rows=31) as terminal:
        assert terminal.wait_exit() == 0
        assert "columns=97, lines=31) True" in terminal.screen.text()


def test_it_finds_the_terminal_settings_that_the_shell_had(home: Home) -> None:
    home.profile("stty", "command: stty")
    for setup in ("", "stty -echo intr ^X -ixon; "):
        outputs = []
        for command in ("stty -a", " ".join([*SYNAPSE, "stty", "--", "-a"])):
            with home.program(["sh", "-c", f"{setup}{command}"]) as terminal:
                terminal.wait_exit()
                outputs.append(terminal.screen.text())
        assert outputs[0] == outputs[1] != ""


def test_resizing_reaches_the_agent(home: Home) -> None:
    with home.terminal("dummy") as terminal:
        terminal.wait_for("dummy>")
        terminal.resize(101, 33)
        terminal.type("size\r")
        terminal.wait_for("101x33")
        terminal.resize(1, 1)
        terminal.resize(60, 20)
        terminal.type("size\r")
        terminal.wait_for("60x20")


def test_ctrl_c_and_ctrl_backslash_go_to_the_agent(home: Home) -> None:
    python_profile(
        home,
        "trap",
        "import signal, time\n"
        "import os\n"
        "for s in (2, 3): signal.signal(s, lambda n, f: os.write(1, b'got %d \\n' % n))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)",
    )
    with home.terminal("trap") as terminal:
        terminal.wait_for("ready")
        terminal.type("\x03")
        terminal.wait_for("got 2")
        terminal.type("\x1c")
        terminal.wait_for("got 3")
        os.kill(terminal.pid, signal.SIGINT)  # not from the keyboard: meant for the agent all the same
        terminal.wait(lambda: terminal.screen.text().count("got 2") == 2, "forwarded signal")


def test_the_terminal_is_as_it_was_after_every_way_out(home: Home) -> None:
    cases = {
        "exit 0": None,
        "crash": None,
        "die 9": None,
        "hello": signal.SIGTERM,
        "hello there": signal.SIGHUP,
    }
    for message, number in cases.items():
        shell = f'stty -a; {" ".join(SYNAPSE)} dummy --tui; echo "status $?"; stty -a'
        with home.program(["sh", "-c", shell]) as terminal:
            terminal.wait_for("? for shortcuts")
            assert terminal.screen.mode(2004)
            terminal.type(message)
            terminal.wait_for(message)
            terminal.type("\r")
            if number is not None:
                terminal.wait_for("You said")
                os.kill(int(str(home.agents()["dummy"]["pid"])), number)
            terminal.wait_exit()
            before, _, after = bytes(terminal.raw).rpartition(b"status ")
            assert before[: before.index(b"flusho")] == after[after.index(b"\n") + 1 : after.index(b"flusho")]
            for mode in (2004, 1049, 1000, 1004):
                assert not terminal.screen.mode(mode), (message, mode)
            assert terminal.screen.cursor_visible


def test_the_shell_gets_a_terminal_that_blocks(home: Home) -> None:
    check = "import os, sys; sys.exit(not (os.get_blocking(0) and os.get_blocking(1)))"
    with home.program(
        ["sh", "-c", f'{" ".join(SYNAPSE)} dummy; {sys.executable} -c "{check}"; echo blocks $?']
    ) as terminal:
        terminal.wait_for("dummy>")
        terminal.type("/exit\r")
        terminal.wait_for("blocks 0")


def test_an_agent_that_stops_itself_stops_the_command_and_goes_on_with_it(home: Home) -> None:
    with home.program(["bash", "--norc", "--noediting", "-i"], PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join(SYNAPSE) + " dummy --tui\r")
        terminal.wait_for("? for shortcuts")
        terminal.type("half a line\x1a")
        terminal.wait_for("Stopped")
        assert not terminal.screen.mode(2004)
        terminal.type("stty -a | grep -c ' icanon'; echo in shell\r")
        terminal.wait_for("in shell\n")
        terminal.type("fg\r")
        terminal.wait(lambda: terminal.screen.mode(2004), "bracketed paste mode")
        terminal.type("\r")
        terminal.wait_for("You said: half a line")
        terminal.type("/exit\r")
        terminal.wait(lambda: terminal.screen.text().rstrip().endswith("$"), "prompt")
        terminal.type("exit\r")
        terminal.wait_exit()


def test_typed_ahead_keys_are_not_lost(home: Home) -> None:
    with home.terminal("dummy") as terminal:
        terminal.type("early bird\r")
        terminal.wait_for("You said: early bird")


def test_output_before_the_end_is_never_cut(home: Home) -> None:
    python_profile(home, "burst", "import sys\nsys.stdout.write('x' * 300000 + 'THE END')")
    with home.terminal("burst") as terminal:
        assert terminal.wait_exit() == 0
        assert terminal.raw.count(b"x") == 300000
        assert terminal.raw.endswith(b"THE END")


def test_a_child_that_goes_on_writing_does_not_keep_the_command(home: Home) -> None:
    home.profile("flood", """command: [bash, -c, 'trap "" HUP; yes & echo $! > yes; sleep 0.3; exit 3']""")
    with home.terminal("flood") as terminal:
        assert terminal.wait_exit() == 3
    os.kill(int((home.work / "yes").read_text()), signal.SIGKILL)
    home.wait_no_process()


def test_a_terminal_that_is_closed_and_opened_again_is_read_again(home: Home) -> None:
    script = "exec </dev/null >/dev/null 2>&1; sleep 0.3; exec </dev/tty >/dev/tty 2>&1; echo back-42; exit 4"
    home.profile("reopen", f"command: [bash, -c, '{script}']")
    with home.terminal("reopen") as terminal:
        assert terminal.wait_exit() == 4
        assert "back-42" in terminal.screen.text()


def test_ctrl_z_stops_a_program_that_knows_nothing_of_us(home: Home) -> None:
    home.profile("cat", "command: cat")
    with home.program(["bash", "--norc", "--noediting", "-i"], PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(" ".join(SYNAPSE) + " cat\r")
        terminal.wait(lambda: not int(str(terminal.attributes()[3])) & termios.ECHO, "raw mode")
        terminal.type("line-1\r")
        terminal.wait(lambda: terminal.screen.text().count("line-1") == 2, "the echo and the copy")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        terminal.type("fg\r")
        terminal.wait(lambda: not int(str(terminal.attributes()[3])) & termios.ECHO, "raw mode again")
        terminal.type("line-2\r")
        terminal.wait(lambda: terminal.screen.text().count("line-2") == 2, "the second line")
        terminal.type("\x04")
        terminal.wait(lambda: terminal.screen.text().rstrip().endswith("$"), "prompt")
        terminal.type("exit\r")
        terminal.wait_exit()


def test_two_hundred_thousand_lines_pass_while_the_host_follows(home: Home) -> None:
    python_profile(home, "flood", "for i in range(200000): print('line', i)\ninput()")
    with home.terminal("flood") as terminal:
        terminal.wait_for("line 199999", 60)
        assert terminal.raw.count(b"\n") == 200000
        wait(lambda: "line 199999" in home.run("screen", "flood").stdout, "the model at the last line")
        terminal.type("\r")
        assert terminal.wait_exit() == 0


class TestFaults:
    def test_a_dead_host_is_replaced_and_the_session_goes_on(self, home: Home) -> None:
        with home.terminal("dummy", "--tui") as terminal:
            terminal.wait_for("? for shortcuts")
            port = home.agents()["dummy"]["port"]
            wait(lambda: len(hosts(home)) == 1 and "is here" in home.log("dummy"), "host")
            for round in (1, 2):
                first = hosts(home)[0]
                os.kill(first, signal.SIGKILL)
                terminal.type(f"round {round}\r")
                terminal.wait_for(f"You said: round {round}")
                wait(lambda: hosts(home) not in ([], [first]), "a new host")  # noqa: B023
            assert home.agents()["dummy"]["port"] == port
            wait(lambda: "You said: round 2" in home.run("screen", "dummy").stdout, "the repainted screen")
            assert "replaced" in home.log("dummy")

    def test_the_host_of_a_background_agent_is_replaced_too(self, home: Home) -> None:
        home.run("start", "dummy")
        for _ in range(2):
            first = hosts(home)
            os.kill(first[0], signal.SIGKILL)
            wait(lambda: hosts(home) not in ([], first), "a new host")  # noqa: B023
            wait(lambda: home.run("status", "dummy", check=False).returncode == 0, "its answer")
        assert list(home.agents()) == ["dummy"]

    def test_a_host_can_be_replaced_after_its_profile_was_broken(self, home: Home) -> None:
        home.profile("mine", "command: cat")
        home.run("start", "mine")
        home.profile("mine", "command: [")
        first = hosts(home)
        os.kill(first[0], signal.SIGKILL)
        wait(lambda: hosts(home) not in ([], first), "a new host")
        wait(lambda: home.run("screen", "mine", check=False).returncode == 0, "its screen")

    def test_the_next_host_knows_the_terminal_modes_at_once(self, home: Home) -> None:
        """They were set longer ago than the output that a new host gets."""
        home.profile("tui", "extends: dummy\nargs: [--tui]\npaste: bracketed\n")
        home.run("start", "tui")
        home.run("send", "tui", "--return", "lines 20000")
        first = hosts(home)
        os.kill(first[0], signal.SIGKILL)
        wait(lambda: hosts(home) not in ([], first), "a new host")
        wait(lambda: home.run("status", "tui", check=False).returncode == 0, "its answer")
        reply = home.run("send", "tui", "--return", "echo two\nlines").stdout
        assert "The message is in the file" not in reply and "lines" in reply

    def test_a_hung_host_does_not_slow_the_human(self, home: Home) -> None:
        with home.terminal("dummy") as terminal:
            terminal.wait_for("dummy>")
            wait(lambda: len(hosts(home)) == 1, "host")
            os.kill(hosts(home)[0], signal.SIGSTOP)
            terminal.type("lines 20000\r")
            terminal.wait_for("line 20000")
            os.kill(hosts(home)[0], signal.SIGCONT)

    def test_when_the_relay_is_killed_the_host_restores_the_terminal_and_ends_the_agent(
        self, home: Home
    ) -> None:
        shell = " ".join(SYNAPSE) + ' dummy --tui --ignore-hup; echo "status $?"; read line'
        with home.program(["sh", "-c", shell]) as terminal:
            terminal.wait_for("? for shortcuts")
            before = terminal.attributes()
            wait(lambda: "is here" in home.log("dummy"), "host")
            os.kill(int(str(home.agents()["dummy"]["pid"])), signal.SIGKILL)
            wait(lambda: home.agents() == {}, "the dead agent off the list", 10.0)
            home_is_quiet(home, keep=processes.session_members(terminal.pid))
            terminal.wait_for("status 137")
            terminal.wait(lambda: not terminal.screen.mode(2004), "end of bracketed paste")
            after = terminal.attributes()
            assert after[3] != before[3]
            assert isinstance(after[3], int) and after[3] & termios.ICANON and after[3] & termios.ECHO
        home.wait_no_process()

    @pytest.mark.parametrize(
        "order", ["relay host", "host relay", "agent host", "relay agent host", "host agent"]
    )
    def test_killed_in_any_order_nothing_is_left(self, home: Home, order: str) -> None:
        home.run("start", "dummy", "--", "--tui", "--ignore-hup")
        entry = home.agents()["dummy"]
        relay = int(str(entry["pid"]))
        host = hosts(home)[0]
        agent = next(pid for pid in home.processes() if pid not in (relay, host))
        pids = {"relay": relay, "host": host, "agent": agent}
        for who in order.split():
            try:
                os.kill(pids[who], signal.SIGKILL)
            except ProcessLookupError:
                pass
        home.wait_no_process()
        wait(lambda: home.agents() == {}, "the kernel to let go of the lock")
        assert list((home.path / "a2a" / "registry").glob("*.json")) == []

    def test_relay_and_host_killed_at_once_leave_no_job_of_the_agent(self, home: Home) -> None:
        script = 'trap "" HUP TERM; (trap "" HUP TERM; sleep 77) & wait'
        home.profile("jobs", f"command: [bash, -c, '{script}']")
        home.run("start", "jobs")
        relay, host = int(str(home.agents()["jobs"]["pid"])), hosts(home)[0]
        assert len(home.processes()) >= 5  # and the keeper, the shell, its job
        os.kill(host, signal.SIGKILL)
        os.kill(relay, signal.SIGKILL)
        home.wait_no_process()

    def test_a_closed_terminal_ends_the_agent(self, home: Home) -> None:
        with home.terminal("dummy", "--tui") as terminal:
            terminal.wait_for("? for shortcuts")
            terminal.close()
            assert terminal.wait_exit() == 129
            home.wait_no_process()
            assert home.agents() == {}

    def test_an_agent_that_will_not_end_is_killed(self, home: Home) -> None:
        home.run("start", "dummy", "--", "--tui", "--ignore-hup")
        assert "stopped dummy" in home.run("stop", "dummy").stdout
        home.wait_no_process()


def home_is_quiet(home: Home, keep: list[int]) -> None:
    wait(lambda: not set(home.processes()) - set(keep), "end of every other process")
