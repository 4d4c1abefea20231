"""A host that is stuck is ended by the kernel, whatever holds the interpreter."""

import os
import signal
import subprocess
import sys

from tests.support.home import Home, hosts, wait

STUCK = r"""
import asyncio, re, sys
from synapse.host.watchdog import Watchdog

async def run():
    Watchdog(asyncio.get_running_loop(), stuck=1, every=0.1)
    await asyncio.sleep(1.5)
    print("well", flush=True)
    re.search(r"^(a+)+\Z", "a" * 60 + "!")

asyncio.run(run())
"""


def test_a_loop_that_turns_lives_and_one_that_is_stuck_ends() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("well\n", -signal.SIGALRM)


def test_a_stopped_host_continues_and_ends_when_its_relay_is_killed(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    (host,) = hosts(home, "a")
    os.kill(host, signal.SIGSTOP)
    os.kill(int(str(home.agents()["a"]["pid"])), signal.SIGKILL)
    wait(lambda: host not in home.processes(), "the end of the host", 60)


def test_a_pattern_that_backtracks_makes_a_status_late_at_worst_and_is_named(home: Home) -> None:
    home.profile(
        "loops",
        r"""
command: [sh, -c, 'echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!; cat']
idle_detection: {strategy: pattern, pattern: '^(a+)+\Z', timeout: 1.5}
""",
    )
    home.run("start", "loops", "--name", "a")
    wait(lambda: r"^(a+)+\Z" in home.run("why", "a").stdout, "the name of the pattern")
    wait(lambda: home.agents()["a"]["status"] == "READY", "the status")
    assert r"^(a+)+\Z" in home.log("a") and "does not answer" not in home.log("a")
