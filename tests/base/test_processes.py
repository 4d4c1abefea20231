"""What the system tells of a process."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys

import pytest

from synapse.base.processes import awaits_input, is_busy, reads_terminal, take_short_turns, times_run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is read")


@pytest.mark.parametrize(
    ("script", "reads"),
    [
        ("print('x'); input()", True),
        ("print('x'); import time; time.sleep(60)", False),
        ("import socket; a, b = socket.socketpair(); print('x'); a.recv(1)", False),
        ("import os; r, w = os.pipe(); print('x'); os.read(r, 1)", False),
    ],
)
def test_whether_a_process_reads_its_terminal(script: str, reads: bool) -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", script])
    try:
        assert select.select([master], [], [], 20)[0]  # it has come to its last statement
        seen = False
        for _ in range(200 if reads else 20):
            seen = seen or reads_terminal(pid)
            select.select([], [], [], 0.01)
            if seen:
                break
        assert seen is reads
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)
    assert not reads_terminal(pid)


@pytest.mark.parametrize(
    ("script", "awaits", "busy"),
    [
        ("print('x'); input()", True, False),
        ("import select; print('x'); select.select([0], [], [])", True, False),
        (
            "import selectors as s; e = s.EpollSelector(); e.register(0, 1); print('x'); e.select()",
            True,
            False,
        ),
        ("print('x'); import time; time.sleep(60)", False, False),
        ("print('x')\nwhile True: pass", False, True),
    ],
)
def test_what_a_process_does(script: str, awaits: bool, busy: bool) -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", script])
    try:
        assert select.select([master], [], [], 20)[0]
        for _ in range(3000):
            if (awaits_input(pid), is_busy(pid)) == (awaits, busy):
                break
            select.select([], [], [], 0.01)
        else:
            pytest.fail(f"awaits {awaits_input(pid)}, busy {is_busy(pid)}")
        assert times_run(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)
    assert (awaits_input(pid), is_busy(pid), times_run(pid)) == (False, True, "")


def test_short_turns_are_asked_for_and_not_inherited() -> None:
    def turns() -> list[tuple[int, int, int]]:
        """The policy, the niceness and the turn in nanoseconds, of this process and of a child."""
        script = (
            "import ctypes, os, struct, sys; b = ctypes.create_string_buffer(48); "
            "n = {'x86_64': 315, 'aarch64': 275, 'riscv64': 275}[os.uname().machine]; "
            "ctypes.CDLL(None).syscall(n, int(sys.argv[1]), b, 48, 0); "
            "a = struct.unpack('IIQiIQQQ', b.raw); print(a[1], a[3], a[5])"
        )
        found = []
        for pid in (os.getpid(), 0):
            text = subprocess.run(
                [sys.executable, "-c", script, str(pid)], capture_output=True, check=True, text=True
            ).stdout
            policy, nice, turn = map(int, text.split())
            found.append((policy, nice, turn))
        return found

    child = os.fork()
    if child == 0:
        try:
            before = turns()
            take_short_turns()
            own, inherited = turns()
            kept = own[:2] == before[0][:2] and inherited == before[1]
            os._exit(0 if kept and own[2] in (100_000, before[0][2]) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
