"""The `synapse` command: imports the module of the command that was given, and no other."""

import os
import sys

from synapse.base.commands import COMMANDS
from synapse.errors import SynapseError, UsageError

USAGE = """\
usage: synapse <profile> [--port N] [--name NAME] [ARGS…]   run an agent in this terminal
       synapse <command> [--help] …

Runs CLI coding agents unchanged in their own terminals, and makes each of them an A2A agent.

commands:
{commands}

profiles: {profiles} (`synapse profiles` shows more)

{tail}"""

TAIL = "Every command has --help. ~/.synapse/config.yaml and ~/.synapse/profiles/ hold your settings."


def main_send() -> int:
    return main(["send", *sys.argv[1:]])


def main_shell() -> int:
    return main(["shell", *sys.argv[1:]])


def main(argv: list[str] | None = None) -> int:
    """Prints an error as one sentence; a closed pipe and Ctrl-C end the command without a message."""
    _open_closed()
    try:
        status = _dispatch(sys.argv[1:] if argv is None else argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except SynapseError as error:
        print(f"synapse: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Python flushes stdout once more at exit and would complain there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        where = f" ({error.filename})" if error.filename else ""
        print(f"synapse: {error.strerror or error}{where}.", file=sys.stderr)
        return 1


def _open_closed() -> None:
    """Opens /dev/null for standard streams that are closed, so that no socket gets their numbers."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, "r" if name == "stdin" else "w"))


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0 if argv else 2
    word, rest = argv[0], argv[1:]
    if word in ("-V", "--version"):
        from synapse import __version__

        print(f"synapse {__version__}")
        return 0
    if word in COMMANDS:
        from importlib import import_module

        return int(import_module(f"synapse.cli.{word.replace('-', '_')}").main(rest))
    if word.startswith("-"):
        raise UsageError(f"unknown option {word}: see `synapse --help`.")
    from synapse.cli import run

    return run.main(word, rest)


def _usage() -> str:
    from synapse.profiles.files import profile_names

    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {help_line}" for name, help_line in COMMANDS.items()]
    return USAGE.format(commands="\n".join(lines), profiles=", ".join(profile_names()), tail=TAIL)
