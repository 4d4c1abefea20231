"""`synapse send --line`, which shell hooks call: the line is on standard input, as it was typed."""

from __future__ import annotations

import os
import sys

from synapse.config import load_settings
from synapse.errors import UsageError
from synapse.keys.commands import CommandParser, Refusal


def send_line() -> int:
    line = sys.stdin.buffer.read().decode("utf-8", "replace")
    settings = load_settings()
    command = CommandParser().parse(line.lstrip(), wait=settings.default_response_mode == "return")
    if command is None:
        raise UsageError(
            "this is not a line for an agent: use `@name [--return] [--priority N] [--timeout S] message`."
        )
    if isinstance(command, Refusal):
        raise UsageError(f"{command.reason}: nothing was sent.")
    _take_terminal()
    from synapse.cli.shared.conversation import send_command

    return send_command(command, settings)


def _take_terminal() -> None:
    """Standard input was a pipe; from here on it is the terminal, where the user answers questions."""
    if not sys.stderr.isatty():
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    os.dup2(terminal, 0)
    os.close(terminal)
