"""What the system tells of a process."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys

import pytest

from synapse.base.processes import reads_terminal

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
