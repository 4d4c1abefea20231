"""`synapse top`: all agents in this terminal: who needs you, who works, who is idle."""

import os

from synapse.cli.shared.parser import Parser
from synapse.errors import UsageError

HELP = """\
All agents of this machine, as they are now: who needs you, who works, who is idle.

  Space      look at the agent's screen         s    send it a message
  1-9        answer its question by number      i    interrupt it
  a          answer in words, or with a secret  /    show only agents with these words
  Enter      attach; the detach keys come back  o    sort by time or by name
  n          the next one that needs you        q    quit
"""


def parser() -> Parser:
    return Parser("synapse top", HELP)


def main(argv: list[str]) -> int:
    parser().parse_args(argv)
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "standard input and output must be a terminal: `synapse list` prints the agents once."
        )
    from synapse.top.app import run

    run()
    return 0
