"""What is said of agents that did not end."""

from __future__ import annotations

import os
import subprocess
import sys

from synapse.launch.stopping import did_not_end


def test_an_agent_whose_process_a_sandbox_hides_is_not_said_to_hang() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert "run the command outside the sandbox" in str(did_not_end([{"name": "b", "pid": gone.pid}]))
    assert "did not end within 15 s: see `synapse logs b`" in str(
        did_not_end([{"name": "b", "pid": os.getpid()}])
    )
