"""The low-level tool: `list` and `send`, each of which prints one JSON document.

python -m synapse.tools.a2a list
python -m synapse.tools.a2a send --target claude --priority 1 "message"
"""

import argparse
import os
import sys

if not __package__:  # run by its path: `a2a` would be this file instead of the SDK
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(argv: list[str] | None = None) -> int:
    from synapse.cli import main as cli

    options = _parse(argv)
    if options.command == "list":
        return cli.main(["list", "--json"])
    words = ["send", "--json", "--return" if options.wait else "--no-wait", "--priority", options.priority]
    for flag, value in (("--timeout", options.timeout), ("--expires", options.expires)):
        words += [flag, value] if value else []
    return cli.main([*words, options.target, "--", *options.message])


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="a2a", description="List the agents of this machine and send messages to them, in JSON."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the registry entries of the running agents")
    send = commands.add_parser("send", help="send a message; prints the task", allow_abbrev=False)
    send.add_argument("--target", required=True, help="the agent's name or type")
    send.add_argument("--priority", default="1", metavar="N", help="1 to 5; 5 interrupts (default: 1)")
    send.add_argument(
        "--return", "--response", dest="wait", action="store_true", help="wait until the task has ended"
    )
    send.add_argument("--timeout", metavar="S", help="seconds to wait")
    send.add_argument("--expires", metavar="S", help="the message fails if it is not typed within S seconds")
    send.add_argument(
        "message", nargs="+", help="words, after -- if one begins with -; - reads them from standard input"
    )
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        from synapse.keys.commands import unknown_flag

        flags = [flag for flag in send._option_string_actions if flag.startswith("--")]
        parser.error(f"{unknown_flag(unknown[0], flags)}: nothing was sent.")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
