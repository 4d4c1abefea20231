"""`synapse demo`: show three reference agents at work, and check every step."""

import os
import shutil
import tempfile

from synapse.cli.shared.ending import clean_up_when_ended
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser

HELP = """\
Show Synapse at work in one minute, with three reference agents that need no key and no network: a message
typed at another agent's prompt, the reply over the screen, a question answered, an interrupt, and the same
with the A2A standard. Each step is explained, with the command that does it. The exit status is 0 only if
every step worked. The demo uses a temporary home and does not touch your files. On a terminal you see the
screens; in a pipe you get a report.
"""


def parser() -> Parser:
    return Parser("synapse demo", HELP)


def main(argv: list[str]) -> int:
    parser().parse_args(argv)
    from synapse.demo.play import play

    clean_up_when_ended()
    home = tempfile.mkdtemp(prefix="synapse-demo-")
    env = {key: value for key, value in os.environ.items() if not key.startswith("SYNAPSE_")}
    try:
        play({**env, "SYNAPSE_HOME": f"{home}/synapse", "A2A_HOME": f"{home}/a2a"})
    finally:
        shutil.rmtree(home, ignore_errors=True)
    say("\nEvery step worked. The same with your own agents: synapse claude, synapse start codex, …")
    return 0
