"""A test waits for named points of the program and holds it there; nobody else notices them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.checkpoints import Checkpoints
from tests.support.home import Home, hosts, wait

PROGRAM = """
import sys
from synapse.base import checkpoints
checkpoints.reached("first")
checkpoints.report_to(int(sys.argv[1]))
checkpoints.reached("second", number=2)
print("done")
"""
HOLDS = """
import os, sys, time
held = os.open(sys.argv[1], os.O_RDWR)
print("holds", flush=True)
time.sleep(600)
"""


def started(points: Checkpoints) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", PROGRAM, str(points.fd)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, pass_fds=[points.fd])


def opened(pid: int) -> set[str]:
    return {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}


def test_what_is_reached_is_reported_once_somebody_listens(home: Home) -> None:
    with Checkpoints(home) as points, started(points) as program:
        assert program.communicate()[0] == "done\n"
        assert not points.reached("first")
        assert points.wait("second", number=2)["pid"] == program.pid


def test_a_held_program_goes_on_when_it_is_released(home: Home) -> None:
    with Checkpoints(home) as points, points.hold("second") as hold, started(points) as program:
        assert hold.reached()["pid"] == program.pid
        assert program.poll() is None
        hold.release()
        assert program.communicate()[0] == "done\n"


def test_a_test_that_is_killed_holds_nobody(home: Home) -> None:
    with Checkpoints(home) as points:
        fifo = points.path / "second"
        os.mkfifo(fifo)
        with subprocess.Popen([sys.executable, "-c", HOLDS, fifo], stdout=subprocess.PIPE) as test:
            assert test.stdout is not None and test.stdout.readline() == b"holds\n"
            with started(points) as program:
                points.wait("second", held=True)
                assert program.poll() is None
                test.kill()
                assert program.communicate()[0] == "done\n"
        with started(points) as program:  # nobody writes into the FIFO that it has left
            assert program.communicate()[0] == "done\n"


def test_relay_and_each_host_have_the_descriptor_and_the_agent_has_not(home: Home) -> None:
    with Checkpoints(home) as points:
        home.run("start", "dummy", *points.option, "--name", "a")
        with home.terminal("dummy", *points.option, "--name", "b") as terminal:
            terminal.wait(lambda: len(points.reached("host ready")) == 2, "both hosts")
            for name in ("a", "b"):
                relay, [host] = int(str(home.agents()[name]["pid"])), hosts(home, name)
                assert str(points.path) in opened(relay) and str(points.path) in opened(host)
                os.kill(host, signal.SIGKILL)
            points.wait("host ready", times=4)
            for pid in home.processes():
                ours = b"synapse.dummy_agent" not in Path(f"/proc/{pid}/cmdline").read_bytes()
                assert ours or str(points.path) not in opened(pid)
            agents = [
                p for p in home.processes() if b"dummy_agent" in Path(f"/proc/{p}/cmdline").read_bytes()
            ]
            assert len(agents) == 2


def test_the_option_is_for_tests_alone(home: Home) -> None:
    for words in (["start", "--help"], ["dummy", "--help"]):
        assert "--checkpoints" not in home.run(*words).stdout
    for value in ("x", "-1", "999"):
        refused = home.run("start", "dummy", f"--checkpoints={value}", check=False)
        assert refused.returncode == 2 and "it is for tests" in refused.stderr
    wait(lambda: not home.agents(), "no agent")
