"""`synapse start`: start an agent in the background."""

from __future__ import annotations

import os

from synapse.base import paths
from synapse.cli.agent import Options, add_options, run
from synapse.cli.shared.output import say
from synapse.config import load_settings
from synapse.errors import SynapseError, UsageError
from synapse.launch import program
from synapse.launch import run as launch
from synapse.launch.detach import become_daemon, first_report
from synapse.profiles.loader import Profile, load_profile, runs_bare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse.cli.shared.parser import Parser

HELP = """\
Start an agent in the background and return when it answers. Instead of a profile you can give the name of an
agent in ~/.synapse/config.yaml (`agents:`).
"""
EPILOG = "`synapse attach <name>` shows its terminal, `synapse stop <name>` stops it."


def parser() -> Parser:
    from synapse.cli.shared.parser import PROFILE, Parser

    found = Parser("synapse start", HELP, EPILOG)
    found.add_word("profile", PROFILE, help="the agent to start; its options come after it")
    for name, text in (
        ("--all", "start every agent of config.yaml that is not running"),
        ("--foreground", "run it in this terminal, like `synapse <profile>`"),
    ):
        found.add_argument(name, action="store_true", help=text)
    add_options(found, "the agent's program")
    return found


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        parser().print_help()
        return 0 if argv else 2
    if argv == ["--all"]:
        return _start_all()
    if argv[0].startswith("-"):
        raise UsageError("the profile comes first: use `synapse start <profile> [options]`.")
    word, options = argv[0], Options(argv[1:])
    configured = load_settings().agents.get(word)
    if configured is not None and configured.profile != word:
        word, options.name = configured.profile, options.name or word
    profile = load_profile(word)
    if options.help:
        parser().print_help()
        return 0
    if options.foreground:
        console = launch.terminal_or_error(profile.name)
        options.enter_worktree(profile.name)
        return run(profile, options, console)
    if runs_bare(profile, options.rest):
        raise UsageError(
            f"`{profile.name} {' '.join(options.rest)}` is not a session that can run in the background: "
            f"use `synapse {profile.name} {' '.join(options.rest)}`."
        )
    options.enter_worktree(profile.name)
    return _start_detached(profile, options)


def _start_all() -> int:
    settings = load_settings()
    if not settings.agents:
        raise UsageError(f"there are no agents in {paths.config_file()}: add them under `agents:`.")
    from synapse.launch.starter import start_all

    running, status = list(settings.agents), 0
    for name, result in start_all(settings):
        running.remove(name)
        if isinstance(result, SynapseError):
            status = 1
            say(f"synapse: {result}", error=True)
        else:
            say(result, flush=True)
    for name in running:
        say(f"{name} is running already")
    return status


def _start_detached(profile: Profile, options: Options) -> int:
    program.find_command(profile)  # report a missing program before the fork
    options.take_token()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os._exit(become_daemon(lambda report: run(profile, options, None, report), profile.name, write))
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        message = first_report(pipe.fileno(), options.name or profile.name)
    if "ready" in message:
        entry: Any = message["ready"]
        say(f"started {entry['name']} at {entry['endpoint']} (pid {entry['pid']})")
        return 0
    tail = _rendered_tail(str(message["output"]), profile)
    more = f"its last lines were\n{tail}" if tail else "it wrote nothing."
    raise SynapseError(f"{profile.name} ended at once with status {message['ended']}: {more}")


def _rendered_tail(output: str, profile: Profile, lines: int = 15) -> str:
    from synapse.terminal.screen import make_screen

    screen = make_screen(*profile.size)
    screen.feed(output.encode())
    text = [line for line in screen.contents().split("\n") if line.strip()]
    return "\n".join(f"  {line}" for line in text[-lines:])
