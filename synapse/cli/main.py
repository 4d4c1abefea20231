"""The `synapse` command: imports the module of the command that was given, and no other."""

import os
import sys

from synapse.base.commands import COMMANDS, HINTS, SYNONYMS
from synapse.cli.shared.output import say
from synapse.errors import SynapseError, UsageError

USAGE = """\
usage: synapse <profile> [--port N] [--name NAME] [ARGS…]
       synapse <command> [--help] …

Runs CLI coding agents unchanged in their own terminals,
and makes each of them an A2A agent. `synapse claude` runs
Claude Code in this terminal.

commands:
{commands}

{profiles}

Every command has --help. Your settings are in
~/.synapse/config.yaml and ~/.synapse/profiles/."""


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
        say(f"synapse: {_sentence(str(error))}", error=True)
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
        say(f"synapse: {error.strerror or error}{where}.", error=True)
        return 1


def _sentence(text: str) -> str:
    """What is wrong with a file has no full stop, since several problems may stand together."""
    return text if text.endswith((".", "?", "!", ")")) or "\n" in text else f"{text}."


def _open_closed() -> None:
    """Opens /dev/null for standard streams that are closed, so that no socket gets their numbers."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, "r" if name == "stdin" else "w"))


def _dispatch(argv: list[str]) -> int:
    if argv[:1] == ["help"] and len(argv) > 1:
        argv = [argv[1], "--help"]
    if not argv or argv[0] in ("-h", "--help", "help"):
        say(_usage())
        return 0 if argv else 2
    word, rest = argv[0], argv[1:]
    if word in ("-V", "--version", "version"):
        from synapse import __version__

        say(f"synapse {__version__}")
        return 0
    if word in SYNONYMS or word in HINTS:
        word = _meant(word)
    if word in COMMANDS:
        from importlib import import_module

        return int(import_module(f"synapse.cli.{word.replace('-', '_')}").main(rest))
    if word.startswith("-"):
        raise UsageError(f"unknown option {word}: see `synapse --help`.")
    from synapse.cli import agent

    return agent.main(word, rest)


def _meant(word: str) -> str:
    """The command for the word of another tool. Raises UsageError if there is none."""
    from synapse.profiles.files import profile_names

    if word in profile_names():
        return word
    if word in HINTS:
        raise UsageError(f"there is no command {word!r}: {HINTS[word]}.")
    return SYNONYMS[word]


def _usage() -> str:
    from synapse.profiles.files import profile_names

    width = max(map(len, COMMANDS))
    profiles = f"profiles: {', '.join(profile_names())}"
    lines = [f"  {name:<{width}}  {help_line}" for name, help_line in COMMANDS.items()]
    if sys.stdout.isatty():
        from synapse.cli.shared.page import Page

        page = Page()
        lines = [page.wrapped(line, width + 4) for line in lines]
        profiles = page.wrapped(profiles, len("profiles: "))
    return USAGE.format(commands="\n".join(lines), profiles=profiles)
