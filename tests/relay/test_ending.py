"""How an agent ends: its jobs, its signals and its terminal fare as they do without Synapse."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from synapse.base import processes
from synapse.relay.pty import Pty
from synapse.testing import Terminal
from tests.support.home import SYNAPSE, Home, hosts, wait

SHELL = ["bash", "--norc", "--noediting", "-i"]
OURS = " ".join(SYNAPSE)

# Each job writes its process id to a file of its name. The writer shows that the terminal is alive; what it
# writes is not visible.
JOBS = """
run() { exec sh -c 'echo $$ > pids/'$1'; exec sleep 300'; }
run plain &
nohup sh -c 'echo $$ > pids/nohup; exec sleep 300' > /dev/null 2>&1 &
run disowned & disown
setsid sh -c 'echo $$ > pids/setsid; exec sleep 300' &
( run subshell & )
sh -c 'echo $$ > pids/writer; while :; do head -c 20000 /dev/zero; echo . >> ticks; sleep 0.1; done' &
"""
NAMES = {"plain", "nohup", "disowned", "setsid", "subshell", "writer"}


class Fate:
    """What became of the jobs of one agent."""

    def __init__(self, home: Home, folder: str, kind: str) -> None:
        self.home = home
        self.folder = home.work / folder
        (self.folder / "pids").mkdir(parents=True)
        (self.folder / "jobs.sh").write_text(JOBS)
        (self.folder / "agent.sh").write_text(". ./jobs.sh\nread line\nexit 3\n")
        self.command = "bash agent.sh" if kind == "script" else " ".join(SHELL)
        self.kind = kind

    def start(self, terminal: Terminal, command: str) -> None:
        terminal.wait_for("outer")
        terminal.type(f"cd {self.folder}; {command}\r")
        if self.kind == "shell":
            terminal.wait_for("inner")
            terminal.type(". ./jobs.sh\r")
        terminal.wait(lambda: {path.name for path in self._files()} == NAMES, "all jobs")

    def _files(self) -> list[Path]:
        return [path for path in (self.folder / "pids").iterdir() if path.read_text().endswith("\n")]

    def alive(self) -> set[str]:
        return {path.name for path in self._files() if processes.is_running(int(path.read_text()))}

    def ticks(self) -> int:
        path = self.folder / "ticks"
        return path.stat().st_size if path.exists() else 0

    def wait_for_ticks(self, terminal: Terminal) -> None:
        before = self.ticks()
        terminal.wait(lambda: self.ticks() >= before + 10, "end of the output that the job writes")

    def end(self) -> None:
        for path in self._files():
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait(lambda: not self.alive(), "end of the jobs")


@contextmanager
def outer_shell(home: Home) -> Iterator[Terminal]:
    with home.program(SHELL, PS1="outer ") as terminal:
        terminal.wait_for("outer")
        yield terminal


def both(home: Home, kind: str) -> Iterator[tuple[Fate, Terminal]]:
    """The agent bare and inside Synapse, each in a shell of its own."""
    for place in ("bare", "inside"):
        fate = Fate(home, place, kind)
        home.profile("jobs", f"command: {fate.command}\n")
        command = f"PS1='inner ' {fate.command if place == 'bare' else f'{OURS} jobs'}"
        with outer_shell(home) as terminal:
            fate.start(terminal, command)
            try:
                yield fate, terminal
            finally:
                fate.end()


@pytest.mark.parametrize("kind", ["script", "shell"])
def test_jobs_live_on_when_the_agent_exits_and_then_the_window_is_closed(home: Home, kind: str) -> None:
    closed = []
    for fate, terminal in both(home, kind):
        port = str(home.agents()["jobs"]["port"]) if fate.folder.name == "inside" else ""
        terminal.type("exit 3\r" if kind == "shell" else "\r")
        terminal.wait(lambda t=terminal: t.raw.count(b"outer ") == 2, "prompt")  # type: ignore[misc]
        terminal.type('echo "status $?"\r')
        terminal.wait_for("status 3")
        fate.wait_for_ticks(terminal)
        assert fate.alive() == NAMES
        if fate.folder.name == "inside":
            assert home.agents() == {} and "jobs" not in home.run("list").stdout
            again = ("start", "dummy", "--name", "jobs", "--port", port)
            wait(lambda a=again: home.run(*a, check=False).returncode == 0, "a free name and port")  # type: ignore[misc]
            home.run("stop", "jobs")
        terminal.close()
        terminal.wait_exit()
        closed.append(fate.alive())
    assert closed[0] == closed[1]


def test_jobs_fare_as_without_synapse_when_the_window_is_closed(home: Home) -> None:
    """Those of a script: a shell whose window is closed may read the end of its input before the signal."""
    for fate, terminal in both(home, "script"):
        terminal.close()
        terminal.wait_exit()
        with suppress(AssertionError):
            wait(lambda f=fate: f.alive() == {"nohup", "setsid"}, "the hangup")  # type: ignore[misc]
        assert fate.alive() == {"nohup", "setsid"}, fate.folder
    wait(lambda: home.agents() == {}, "the end of the agent")


def test_the_terminal_is_dead_when_the_hangup_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the process that closes the window takes after it has told the keeper."""
    program = (
        "import os, signal, termios, time\n"
        "def said():\n"
        "    try: return termios.tcgetattr(0) and 'alive'\n"
        "    except termios.error: return 'dead'\n"
        "def note(*_):\n"
        f"    with open({str(tmp_path / 'new')!r}, 'w') as file: file.write(said())\n"
        f"    os.rename({str(tmp_path / 'new')!r}, {str(tmp_path / 'told')!r})\n"
        "signal.signal(signal.SIGHUP, note)\n"
        "print('rea' + 'dy', flush=True)\n"
        f"while not os.path.exists({str(tmp_path / 'told')!r}): time.sleep(0.01)\n"
    )
    told = tmp_path / "told"

    def tell(pty: Pty, line: bytes, real: Callable[[Pty, bytes], None] = Pty._tell) -> None:
        real(pty, line)
        wait(told.exists, "the signal")

    with Terminal([sys.executable, "-c", program], {}) as terminal:
        terminal.wait_for("ready")
        monkeypatch.setattr(Pty, "_tell", tell)
        terminal.close()
        terminal.wait_exit()
    assert told.read_text() == "dead"


def test_stop_ends_the_jobs_too(home: Home) -> None:
    fate = Fate(home, "inside", "script")
    home.profile("jobs", f"command: {fate.command}\n")
    with outer_shell(home) as terminal:
        fate.start(terminal, f"{OURS} jobs")
        stopping = threading.Thread(target=home.run, args=("stop", "jobs"))
        stopping.start()
        terminal.wait(lambda: not stopping.is_alive(), "end")
        wait(lambda: fate.alive() == {"setsid"}, "end of the jobs")
        terminal.wait(lambda: terminal.raw.count(b"outer ") == 2, "prompt")
        terminal.type('echo "status $?"\r')
        terminal.wait_for("status 143")
        fate.end()


WAITS = "import sys, time; print('rea' + 'dy', flush=True); time.sleep(300)"
SIGNALS = [
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGKILL),
    *(signal.SIGUSR1, signal.SIGSEGV, signal.SIGABRT),
]


def ends(home: Home, command: str, number: int, *, of_agent: bool) -> str:
    """What an interactive shell shows after a program was killed; `$?` is part of it."""
    with outer_shell(home) as terminal:
        terminal.type(f"ulimit -c 0; {command}\r")
        terminal.wait_for("ready")
        if of_agent:
            (pid,) = [pid for pid in home.processes() if cmdline(pid)[-1:] == [WAITS]]
        else:
            pid = int(str(home.agents()["waits"]["pid"]))
        os.kill(pid, number)
        terminal.wait(lambda: terminal.raw.count(b"outer ") == 2, "prompt")
        terminal.type('echo "status $?"\r')
        terminal.wait_for("status 1")
        return terminal.screen.text().partition("ready")[2].replace("outer", "").strip()


def cmdline(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def waits(home: Home) -> str:
    (home.work / "waits.sh").write_text(f'exec "{sys.executable}" -I -S -c "{WAITS}"\n')
    home.profile("waits", "command: sh waits.sh\n")
    return "sh waits.sh"


@pytest.mark.parametrize("number", SIGNALS)
def test_the_shell_sees_the_signal_that_killed_the_agent(home: Home, number: signal.Signals) -> None:
    bare = ends(home, waits(home), number, of_agent=True)
    script = str(Path(sys.executable).parent / "synapse")
    for command in (f"{OURS} waits", f"{script} waits"):
        inside = ends(home, command, number, of_agent=True)
        assert inside.replace(f"{command}", "sh waits.sh") == bare
    assert f"status {128 + number}" in bare


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_signal_for_the_command_ends_it_as_it_ends_the_program(home: Home, number: signal.Signals) -> None:
    command = waits(home)
    bare = ends(home, command, number, of_agent=True)
    assert ends(home, f"{OURS} waits", number, of_agent=False).replace(f"{OURS} waits", command) == bare


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_ctrl_c_ends_a_loop_in_the_shell(home: Home, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    waits(home)
    argv = {"bash": SHELL, "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "--no-config", "-i"]}[shell]
    loops = {"fish": "for i in 1 2 3; echo turn-$i; COMMAND; end"}
    loop = loops.get(shell, "for i in 1 2 3; do echo turn-$i; COMMAND; done")
    for command in ("sh waits.sh", f"{OURS} waits"):
        with home.program(argv, 150, 24) as terminal:
            terminal.wait(lambda t=terminal: bool(t.screen.text().strip()), "prompt")  # type: ignore[misc]
            terminal.type(loop.replace("COMMAND", command) + "\r")
            terminal.wait_for("ready")
            terminal.type("\x03")
            prompt = terminal.screen.text().split("\n")[0].partition("for ")[0].strip()[:6]
            terminal.wait(lambda t=terminal, p=prompt: t.screen.text().count(p) > 1, "prompt")  # type: ignore[misc]
            terminal.type("echo the-$((40+2))-end\r" if shell != "fish" else "echo the-(math 40+2)-end\r")
            terminal.wait_for("the-42-end")
            assert "turn-1" in terminal.screen.text() and "turn-2" not in terminal.screen.text()


PYTHON = f"{sys.executable} -q -I"


@pytest.mark.parametrize(
    ("command", "prompt", "leave"),
    [
        ("bash --norc", "inner", "exit"),
        ("bash --norc --noediting", "inner", "exit"),
        ("sh", "inner", "exit"),
        ("sh", "inner", "\x04"),
        (PYTHON, ">>>", "exit()"),
        (PYTHON, ">>>", "\x04"),
        ("cat", "", "a line\n\x04"),
    ],
)
def test_what_is_typed_behind_the_line_that_ends_the_agent_is_for_the_shell(
    home: Home, command: str, prompt: str, leave: str
) -> None:
    home.profile("ends", f"command: {command}\n")
    for started in (command, f"{OURS} ends"):
        with outer_shell(home) as terminal:
            terminal.type(f"PS1='inner ' {started}; echo ended-$((4+5))\r")
            if prompt:
                seen = 1 if prompt == ">>>" else 2  # a shell's prompt is in the command line too
                terminal.wait(lambda t=terminal, s=seen: t.raw.count(prompt.encode()) >= s, "prompt")  # type: ignore[misc]
            else:
                terminal.type("here\r")
                terminal.wait(lambda t=terminal: t.screen.text().count("here") > 1, "echo")  # type: ignore[misc]
            end = "" if leave.endswith("\x04") else "\n"
            terminal.type(f"{leave}{end}echo back-$((1+1))\n")
            terminal.wait_for("ended-9")
            terminal.wait_for("back-2")


def test_lines_typed_ahead_all_reach_the_agent_in_order(home: Home) -> None:
    """A program that does not read for a while gets them too, and Ctrl-C behind them."""
    home.profile("ahead", "command: bash --norc --noediting\n")
    with home.terminal("ahead", PS1="inner ") as terminal:
        terminal.wait_for("inner")
        terminal.type("".join(f"echo line-$(({number}+1000))\r" for number in range(30)))
        terminal.wait_for("line-1029")
        said = [f"line-{number + 1000}" for number in range(30)]
        assert [word for word in terminal.raw.decode().split() if word in said] == said
        terminal.type("sleep 300\recho not-$((1+1))\r\x03")
        terminal.wait_for("^C")
        terminal.wait(lambda: terminal.raw.endswith(b"inner "), "prompt")
        terminal.type("echo then-$((1+1))\r")
        terminal.wait_for("then-2")


# Leaves on: mouse, focus, bracketed paste, kitty keyboard, a bar as the cursor, a scroll region, no cursor.
MODES = """
import os, time
os.write(1, b"\\x1b[?1000h\\x1b[?1004h\\x1b[?2004h\\x1b[>1u\\x1b[5 q\\x1b[3;9r\\x1b[?25l\\x1b[5;1Hready")
time.sleep(300)
"""


def set_modes(home: Home) -> None:
    (home.work / "modes.py").write_text(MODES)
    home.profile("modes", f"command: ['{sys.executable}', '-I', '-S', modes.py]\n")


def kill(home: Home, *who: str) -> None:
    relay = int(str(home.agents()["modes"]["pid"]))
    pids = {"relay": relay, "host": hosts(home)[0]}
    for name in who:
        os.kill(pids[name], signal.SIGKILL)


def is_restored(terminal: Terminal) -> bool:
    flags = terminal.attributes()[3]
    assert isinstance(flags, int)
    return bool(flags & termios.ECHO) and not any(terminal.screen.mode(mode) for mode in (1000, 1004))


@pytest.mark.parametrize("who", [("relay",), ("host", "relay")])
def test_a_killed_relay_leaves_a_terminal_that_works(home: Home, who: tuple[str, ...]) -> None:
    """The shell waits in `read` and sets nothing itself: everything is undone."""
    set_modes(home)
    with home.program(["sh", "-c", f"{OURS} modes; read line; echo got-$line; read line"]) as terminal:
        terminal.wait_for("ready")
        wait(lambda: "is here" in home.log("modes"), "host")
        kill(home, *who)
        terminal.wait(lambda: is_restored(terminal) and terminal.screen.cursor_visible, "restored terminal")
        terminal.wait(lambda: not terminal.screen.mode(2004), "end of bracketed paste")
        written = bytes(terminal.raw).partition(b"ready")[2]
        assert b"\x1b[<99u" in written and b"\x1b[0 q" in written and b"\x1b[r" in written
        terminal.type("line\r")
        terminal.wait_for("got-line")
    home.wait_no_process()


@pytest.mark.parametrize("who", [("relay",), ("host", "relay")])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_the_shell_has_set_after_a_killed_relay_stays(
    home: Home, shell: str, who: tuple[str, ...]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    set_modes(home)
    argv = {
        "bash": ["bash", "--norc", "-i"],
        "zsh": ["zsh", "-f", "-i"],
        "fish": ["fish", "--no-config", "-i"],
    }
    with home.program(argv[shell], 150) as terminal:
        terminal.wait(lambda: bool(terminal.screen.text().strip()), "prompt")
        pasted = terminal.screen.mode(2004)
        terminal.type(f"{OURS} modes\r")
        terminal.wait_for("ready")
        wait(lambda: "is here" in home.log("modes"), "host")
        kill(home, *who)
        wait(lambda: home.agents() == {}, "end of the agent")
        terminal.wait(lambda: len(home.processes()) == 1, "end of every process but the shell")
        terminal.wait(lambda: not terminal.screen.mode(1000), "end of mouse reports")
        terminal.type("echo the-$((40+2))-end\r" if shell != "fish" else "echo the-(math 40+2)-end\r")
        terminal.wait_for("the-42-end")
        if pasted:
            terminal.wait(lambda: terminal.screen.mode(2004), "the shell's own bracketed paste")
        written = bytes(terminal.raw).partition(b"ready")[2]
        assert b"\x1b[0 q" in written and b"\x1b[r" in written
    home.wait_no_process()


def test_attach_restores_its_terminal_when_relay_and_host_are_killed(home: Home) -> None:
    set_modes(home)
    home.run("start", "modes")
    with home.program(["sh", "-c", f"{OURS} attach modes; read line; echo got-$line"]) as terminal:
        terminal.wait_for("ready")
        terminal.wait(lambda: terminal.screen.mode(1000), "mouse")
        kill(home, "host", "relay")
        terminal.wait_for("modes has ended")
        terminal.wait(lambda: is_restored(terminal) and not terminal.screen.mode(2004), "restored terminal")
        terminal.type("line\r")
        terminal.wait_for("got-line")
    home.wait_no_process()


def test_ctrl_c_discards_what_a_slow_terminal_has_not_taken(home: Home) -> None:
    """As the kernel does: nobody wants to read on what they have interrupted."""
    script = "import signal\ntry:\n    while True: print('x' * 99, flush=True)\nexcept KeyboardInterrupt:\n"
    (home.work / "flood.py").write_text(script + "    print('y' * 9 + 'end', flush=True)\ninput()\n")
    home.profile("flood", f"command: ['{sys.executable}', '-I', '-S', flood.py]\n")
    with home.terminal("flood") as terminal:
        terminal.wait_for("xxx")
        # Nobody reads: the kernel's buffers and the relay's fill up, and the program is blocked.
        (pid,) = [pid for pid in home.processes() if "flood.py" in cmdline(pid)]
        written = [0]

        def is_blocked() -> bool:
            written.append(int(Path(f"/proc/{pid}/io").read_text().split()[3]))
            return written[-1] > 20_000 and len(written) > 50 and len(set(written[-50:])) == 1

        wait(is_blocked, "a full terminal")
        before = len(terminal.raw)
        terminal.type("\x03")
        terminal.wait_for("yyyend")
        assert len(terminal.raw) - before < 32 * 1024  # 42 KB wait in the kernel and in the relay
        terminal.type("\r")
        assert terminal.wait_exit() == 0
