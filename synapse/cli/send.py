"""`synapse send`: a message to an agent, and its reply."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from synapse.config import load_settings
from synapse.errors import UsageError
from synapse.registry import ALL, ALL_HERE

if TYPE_CHECKING:
    from synapse.cli.conversation import Conversation

HELP = """\
A message to a running agent. With --return its reply is printed when it comes, alone on standard output.

  synapse send codex --return "review the changes in this directory"
  git diff | synapse send codex --return -
  synapse send all --return "who are you?"
  synapse send all-here --return "who works in this directory?"

Exit status: 0 done, 1 failed, 2 wrong usage, 3 no such agent, 4 timed out, 5 the agent asks something.
"""


def main(argv: list[str]) -> int:
    if argv == ["--line"]:
        from synapse.cli.line import send_line

        return send_line()
    options = _parse(argv)
    settings = load_settings()
    message = _message(options)
    wait = settings.default_response_mode == "return" if options.wait is None else options.wait
    timeout = options.timeout if options.timeout is not None else float(settings.response_timeout)
    from synapse.cli.conversation import Conversation

    conversation = Conversation(timeout, options.priority, options.json)
    return run(conversation, options.target, message, wait)


def run(conversation: Conversation, target: str, message: str, wait: bool) -> int:
    import asyncio

    try:
        if target.casefold() in (ALL, ALL_HERE):
            return asyncio.run(conversation.broadcast(message, wait, target.casefold() == ALL_HERE))
        return asyncio.run(conversation.send(target, message, wait))
    except KeyboardInterrupt:
        return conversation.interrupted()


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="synapse send",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("target", help="a name, type, type-port, beginning of an id, `all`, `all-here`")
    parser.add_argument("message", nargs="*", help="the message; - reads it from standard input")
    waiting = parser.add_mutually_exclusive_group()
    for names, value, text in (
        (("--return", "--response", "--here"), True, "wait for the reply and print it"),
        (("--no-wait", "--non-response", "--display"), False, "only send: the reply stays with the agent"),
    ):
        waiting.add_argument(*names, dest="wait", action="store_const", const=value, help=text)
    parser.add_argument("--file", metavar="FILE", help="the message is in this file")
    parser.add_argument(
        "--priority", type=_priority, default=1, metavar="N", help="1 to 5; 5 interrupts (default: 1)"
    )
    parser.add_argument(
        "--timeout", type=_seconds, metavar="S", help="seconds to wait; then nothing is cancelled"
    )
    parser.add_argument("--json", action="store_true", help="the task as one JSON document")
    options, unknown = parser.parse_known_intermixed_args(argv)
    refuse_options(unknown)
    return options


def refuse_options(words: list[str]) -> None:
    """What looks like an option and is none: a part of the message, most likely."""
    if words:
        raise UsageError(f"there is no option {words[0]}: `--` goes before a message that has such words.")


def _message(options: argparse.Namespace) -> str:
    words: list[str] = options.message
    if options.file is not None:
        if words:
            raise UsageError("the message is given twice: in words and with --file.")
        try:
            with open(options.file, "rb") as file:
                text = file.read().decode("utf-8", "replace")
        except OSError as error:
            raise UsageError(f"cannot read {options.file}: {error.strerror}.") from error
    elif words == ["-"]:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        text = os.fsencode(" ".join(words)).decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("there is no message: give it as words, with --file, or - to read it from a pipe.")
    return text


def _priority(text: str) -> int:
    if text not in ("1", "2", "3", "4", "5"):
        raise argparse.ArgumentTypeError("from 1 to 5")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 604800:
        raise argparse.ArgumentTypeError("a number of seconds above 0, a week at the most")
    return seconds
