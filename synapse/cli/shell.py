"""`synapse shell`: the user's own shell, in which `@agent` lines go to agents."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from synapse.base import paths
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser
from synapse.config import Settings, load_settings
from synapse.shell.agent_lines import AgentLines, is_whole
from synapse.shell.app import INTERRUPTED, Send, Shell
from synapse.shell.batch import BatchSession
from synapse.shell.command_readers import PlainReader, Reader, ScriptReader
from synapse.shell.completeness import Completeness
from synapse.shell.dialects import Dialect, find_shell
from synapse.shell.history import History

if TYPE_CHECKING:
    from synapse.keys.commands import Command
    from synapse.shell.command_readers import IsWhole
    from synapse.shell.session import Session

HELP = """\
Your own shell, in which a line such as `@codex review this` goes to that agent.

  @codex --return is this right?     wait for the reply and show it here
  @all stop, please                  to every running agent
  anything else                      goes to your shell ($SHELL) unchanged

Tab completes names, flags, earlier messages, programs and files. Alt-Enter or a backslash at the end of a
line begins another one. Ctrl-C discards the line, or ends the wait for a reply; Ctrl-D leaves. From a pipe or
a file the lines are run in order.
"""


def parser() -> Parser:
    found = Parser("synapse-shell", HELP)
    found.add_argument("-c", dest="text", metavar="LINE", help="run this line and end with its status")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    settings = load_settings()
    program, dialect = find_shell(os.environ)
    complete = Completeness(program, dialect)
    lines = AgentLines(settings.input_routing.pattern, settings.default_response_mode == "return")

    def whole(text: str) -> bool:
        return is_whole(text) if lines.is_for_agent(text) else complete.is_whole(text)

    if options.text is not None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        source = 0 if options.text is None else io.BytesIO(os.fsencode(options.text))
        with closing(BatchSession(program, dialect)) as session:
            return Shell(session, ScriptReader(source, whole), lines, _sender(settings, False)).run()
    return _in_terminal(program, dialect, whole, lines, settings)


def _in_terminal(
    program: str, dialect: Dialect, whole: IsWhole, lines: AgentLines, settings: Settings
) -> int:
    from synapse.relay.console import Console
    from synapse.shell.session import HungUp, Session

    wanted = os.environ.get("SHELL", program)
    if program != wanted:
        say(f"synapse: {wanted} is none of bash, zsh, fish and sh; using {program}.", error=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    console = Console.of_this_process()
    try:
        with closing(console), closing(Session(program, dialect, console)) as session:
            history = History(os.path.join(paths.synapse_home(), "shell_history"))
            reader = _reader(session, history, whole, settings)
            return Shell(session, reader, lines, _sender(settings, True), history).run()
    except HungUp:
        return 128 + signal.SIGHUP


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _reader(session: Session, history: History, whole: IsWhole, settings: Settings) -> Reader:
    template = settings.shell_prompt

    def prompt(status: int) -> str:
        return template.replace("{cwd}", _directory(session)).replace("{status}", str(status))

    def aside(status: int) -> str:
        return "" if "{cwd}" in template else f"{f'[{status}] ' if status else ''}{_directory(session)}"

    if os.environ.get("TERM", "dumb") == "dumb":
        return PlainReader(prompt, whole)
    from synapse.peers.directory import open_directory
    from synapse.shell.prompt import EditorReader

    startable = [name for name, agent in settings.agents.items() if agent.auto_start]
    return EditorReader(session, history, open_directory(startable=startable).listed, prompt, aside, whole)


def _directory(session: Session) -> str:
    from synapse.base.text import for_output

    return paths.shortened(for_output(session.directory.decode("utf-8", "replace")))


def _sender(settings: Settings, in_terminal: bool) -> Send:
    def send(command: Command) -> int:
        from synapse.cli.shared.conversation import send_command
        from synapse.shell.reply import Reply

        if in_terminal:
            color = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
            reply = Reply(command.name, partial(print, end="", flush=True), _size, color)
            return send_command(command, settings, reply)
        status = send_command(command, settings)
        if status == INTERRUPTED:
            raise KeyboardInterrupt  # which ends a script
        return status

    return send


def _size() -> tuple[int, int]:
    try:
        columns, lines = os.get_terminal_size(1)
    except OSError:
        return 80, 24
    return columns or 80, lines or 24
