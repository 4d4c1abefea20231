"""A command that is ended cleans up, whenever the signal comes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

FORKS = """
import os, signal, sys
from synapse.cli.shared.ending import clean_up_when_ended, end_if_asked

signal.signal(signal.SIGINT, signal.default_int_handler)
clean_up_when_ended()
end_if_asked()
number = int(sys.argv[1])
os.register_at_fork(before=lambda: signal.raise_signal(number))
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print("goes on")
try:
    end_if_asked()
except KeyboardInterrupt:
    raise SystemExit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_process_is_started_is_not_lost(number: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(int(number))], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("goes on\n", 128 + number), done.stderr
