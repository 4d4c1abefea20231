"""`synapse demo`: a minute with three reference agents, every step checked."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile

HELP = """\
A minute of Synapse, with three reference agents that need no key and no network: a message typed at another
agent's prompt, the reply over the screen, a question answered, an interrupt, the same by the A2A standard.
Each step says what it is and which command does it; the demo ends with status 0 only if every step worked.
Uses a temporary home: nothing of yours is touched. On a terminal it is played; into a pipe it is told.
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse demo", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args(argv)
    from synapse.demo.play import play

    home = tempfile.mkdtemp(prefix="synapse-demo-")
    env = {key: value for key, value in os.environ.items() if not key.startswith("SYNAPSE_")}
    try:
        play({**env, "SYNAPSE_HOME": f"{home}/synapse", "A2A_HOME": f"{home}/a2a"})
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print("\nEvery step worked. The same with your own agents: synapse claude, synapse start codex, …")
    return 0
