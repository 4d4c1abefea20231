"""`synapse send`: send a message to an agent, and print its reply."""

import os
import sys

from synapse.cli.shared.output import say
from synapse.cli.shared.parser import RECIPIENT, WEEK, Parser, number
from synapse.cli.shared.submit import Submission
from synapse.config import load_settings
from synapse.errors import UsageError
from synapse.keys.commands import CommandParser, Refusal, unknown_flag

LINE = "`@name [--return] [--priority N] [--timeout S] [--expires S] message`"
HELP = """\
Send a message to an agent. The agent stores it, and it is typed at the agent's prompt as soon as the agent
is idle and nobody is typing there.

With --return the command waits, and prints only the reply on standard output. With --no-wait it returns when
the agent has stored the message, and prints the command that shows the reply. Without either, the setting
default_response_mode decides: `display` (the default) does not wait, `return` waits.

  synapse send codex --return "review the changes in this directory"
  git diff | synapse send codex --return -
  synapse send all --return "who are you?"
  synapse send all-here --return "who works in this directory?"
  synapse send all@box --return "who works on this machine?"      (all@all: on every machine)
  synapse send codex --expires 60 "only if you get to it within a minute"
  synapse send codex -- --help is wrong     (`--` ends the flags)

Exit status: 0 done, 1 failed, 2 wrong usage, 3 no such agent, 4 timed out, 5 the agent asks a question.
"""


def main(argv: list[str]) -> int:
    if argv == ["--line"]:
        return _send_line()
    found = parser()
    options, unknown = found.parse_known_intermixed_args(argv)
    refuse_options(found, unknown)
    message = read_message(options.message, options.file)
    settings = load_settings()
    wait = settings.default_response_mode == "return" if options.wait is None else options.wait
    request_id = ""
    if not wait and not options.json:
        submission = Submission(options.target, message, options.priority, options.expires)
        if sent := submission.attempt():
            say(sent)
            return 0
        request_id = submission.request_id
    timeout = options.timeout if options.timeout is not None else float(settings.response_timeout)
    from synapse.cli.shared.conversation import Conversation

    conversation = Conversation(
        timeout, options.priority, options.json, expires=options.expires, request_id=request_id
    )
    return conversation.run(options.target, message, wait)


def _send_line() -> int:
    """For shell hooks: the line `@agent …` is on standard input, as it was typed."""
    line = sys.stdin.buffer.read().decode("utf-8", "replace")
    settings = load_settings()
    command = CommandParser().parse(line.lstrip(), wait=settings.default_response_mode == "return")
    if command is None:
        raise UsageError(f"this is not a line for an agent: use {LINE}.")
    if isinstance(command, Refusal):
        raise UsageError(f"{command.reason}: nothing was sent.")
    if sys.stderr.isatty():
        _take_terminal()
    from synapse.cli.shared.conversation import send_command

    return send_command(command, settings)


def _take_terminal() -> None:
    """Standard input was a pipe; now it becomes the terminal, where the human answers questions."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    os.dup2(terminal, 0)
    os.close(terminal)


def parser() -> Parser:
    found = Parser("synapse send", HELP, allow_abbrev=False)
    found.add_word(
        "target",
        RECIPIENT,
        help="a name, a type, type-port, the beginning of an id, `all`, `all-here` or `all@machine`",
    )
    found.add_argument("message", nargs="*", help="the message; - reads it from standard input")
    waiting = found.add_mutually_exclusive_group()
    for names, value, text in (
        (("--return", "--response", "--here"), True, "wait for the reply and print it"),
        (("--no-wait", "--non-response", "--display"), False, "do not wait; the agent shows the reply"),
    ):
        waiting.add_argument(*names, dest="wait", action="store_const", const=value, help=text)
    found.add_argument("--file", metavar="FILE", help="read the message from this file")
    priority, seconds = number(int, 1, 5), number(float, 0.001, WEEK)
    found.add_argument(
        "--priority", type=priority, default=1, metavar="N", help="1 to 5; 5 interrupts (default: 1)"
    )
    found.add_argument(
        "--timeout", type=seconds, metavar="S", help="seconds to wait; the task goes on after that"
    )
    found.add_argument(
        "--expires", type=seconds, metavar="S", help="the message fails if it is not typed within S seconds"
    )
    return found.add_json("print the task as one JSON object")


def refuse_options(parser: Parser, words: list[str]) -> None:
    if words:
        raise UsageError(f"{unknown_flag(words[0], parser.flags)}: nothing was sent.")


def read_message(words: list[str], path: str | None) -> str:
    """The message from the words of a command, a file or standard input."""
    if path is not None:
        if words:
            raise UsageError("the message is given twice, as words and with --file: leave one of them out.")
        try:
            with open(path, "rb") as file:
                text = file.read().decode("utf-8", "replace")
        except OSError as error:
            raise UsageError(
                f"cannot read {path} ({error.strerror}): name a file that you can read."
            ) from error
    elif words == ["-"]:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        text = os.fsencode(" ".join(words)).decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("there is no message: give it as words, or - to read it from a pipe.")
    return text
