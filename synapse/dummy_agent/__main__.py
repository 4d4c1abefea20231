"""python -m synapse.dummy_agent"""

import argparse
import os
import sys
from collections.abc import Sequence

from synapse import __version__
from synapse.dummy_agent.script import DIRECTIVES

NAME = "python -m synapse.dummy_agent"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=NAME,
        description="An interactive agent without a model: it answers what the message tells it to answer.",
        epilog=f"A message is repeated as the answer, unless it starts with one of these:\n\n{DIRECTIVES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--tui", action="store_true", help="raw mode with a composer, as in the coding agents")
    made.add_argument("--alt-screen", action="store_true", help="the same in the alternate screen")
    made.add_argument("--delay", type=_seconds, default=0.0, metavar="SECONDS", help="between streamed words")
    made.add_argument(
        "--startup", type=_seconds, default=0.0, metavar="SECONDS", help="silence before the first prompt"
    )
    made.add_argument("--trust", action="store_true", help="ask first whether this folder is trusted")
    made.add_argument(
        "--mute", action="store_true", help="report nothing to Synapse: only the screen shows what it does"
    )
    made.add_argument("--log", metavar="FILE", help="append each message that arrives, as one line of JSON")
    made.add_argument("--ignore-hup", action="store_true", help="ignore SIGHUP and SIGTERM")
    made.add_argument("--version", action="version", version=f"dummy {__version__}")
    return made


def _seconds(word: str) -> float:
    value = float(word)
    if not 0 <= value < 1e6:
        raise ValueError
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if not (options.tui or options.alt_screen):
        from synapse.dummy_agent.line import LineAgent

        return LineAgent(
            options, f"dummy {__version__}, an agent with no model behind it. /exit quits."
        ).run()
    if not (os.isatty(0) and os.isatty(1)):
        print(
            "--tui needs a terminal for its input and output: leave it out, or run it in one.",
            file=sys.stderr,
        )
        return 2
    from synapse.dummy_agent.tui import TuiAgent

    return TuiAgent(options, f"dummy {__version__}\nan agent with no model behind it; /exit quits").run()


if __name__ == "__main__":
    sys.exit(main())
