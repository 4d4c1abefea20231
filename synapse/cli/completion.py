"""`synapse completion`: scripts for shells, and the words they offer, read from the commands' own help."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import NamedTuple

from synapse.base.commands import COMMANDS
from synapse.cli import run
from synapse.cli.shell_hook import SHELLS, script, this_shell
from synapse.errors import SynapseError, UsageError

HELP = """\
usage: synapse completion [bash|zsh|fish]

Prints a script that completes commands, options, profiles, running agents and tasks. To install it, add one
line at the end of

  ~/.bashrc                     eval "$(synapse completion bash)"
  ~/.zshrc                      eval "$(synapse completion zsh)"
  ~/.config/fish/config.fish    synapse completion fish | source

Without an argument it is the script for the shell that runs the command.
"""

Words = list[tuple[str, str]]  # each with what it means
TASKS_OFFERED = 20
REPEATED = "...]"  # as argparse writes it: [target ...]
_OPTION = re.compile(r"^  (-[\w-]+(?:[ ,]+(?:-[\w-]+|[A-Z]+))*)(?:(?:  +|\n {9,})(\S.*))?$", re.MULTILINE)
_OPTION_GROUP = re.compile(r"\[-[^\]]*\]")


def main(argv: list[str]) -> int:
    if argv[:1] == ["--words"]:
        return _print_words(argv[1:])
    if any(word in ("-h", "--help") for word in argv):
        print(HELP, end="")
        return 0
    if len(argv) > 1 or (argv and argv[0] not in SHELLS):
        raise UsageError(f"there is no completion for {' '.join(argv)!r}: only for {', '.join(SHELLS)}.")
    print(script("completion", argv[0] if argv else this_shell()), end="")
    return 0


def _print_words(line: list[str]) -> int:
    """What a shell asks on Tab: the line until the cursor, the last word unfinished. Never an error."""
    try:
        found = complete(line)
    except SynapseError:
        found = []  # of a file that is broken; the command itself will say so
    for word, meaning in found:
        print(f"{word}\t{' '.join(meaning.split())}")
    return 0 if found else 1


def complete(line: list[str]) -> Words:
    program, *words = line or [""]
    if program.endswith("synapse-send"):
        words = ["send", *words]
    *before, current = words or [""]
    offered = _offered(before, current) if before else _first_words()
    return [(word, meaning) for word, meaning in offered if word.startswith(current)]


def _first_words() -> Words:
    from synapse.profiles.loader import profile_names

    commands = [(name, text) for name, text in COMMANDS.items()]
    return [*commands, *((name, "run this agent here") for name in profile_names())]


def _offered(before: list[str], current: str) -> Words:
    grammar = _grammar(before[:1])
    at = 1
    if grammar is not None and len(before) > 1 and grammar.is_choice(before[1]):
        grammar, at = _grammar(before[:2]), 2
    if grammar is None or "--" in before:
        return []
    if before[-1] in grammar.valued:
        return []
    if current.startswith("-"):
        return grammar.options
    pairs = zip(before[at - 1 :], before[at:], strict=False)
    given = [word for last, word in pairs if word[:1] != "-" and last not in grammar.valued]
    return _of_kind(grammar.positional(len(given)), before[0])


class Grammar(NamedTuple):
    """What a command's help says of it."""

    options: Words
    valued: frozenset[str]  # the options that take a value
    positionals: list[str]

    def is_choice(self, word: str) -> bool:
        return bool(self.positionals) and word in self.positionals[0].split("|")

    def positional(self, number: int) -> str:
        if REPEATED in self.positionals:  # as often as one likes
            number = min(number, self.positionals.index(REPEATED) - 1)
        return self.positionals[number] if number < len(self.positionals) else ""


def _grammar(words: list[str]) -> Grammar | None:
    """Of a command, or of a command and its subcommand; None of what is neither a command nor a profile."""
    text = _help(words)
    if text is None:
        return None
    usage, _, rest = text.partition("\n\n")
    options: Words = []
    valued: set[str] = set()
    for names, meaning in _OPTION.findall(rest):
        parts = re.split(r"[ ,]+", names)
        flags = [part for part in parts if part.startswith("-")]
        options += [(flag, meaning) for flag in flags if len(flag) > 2 or len(flags) == 1]
        if len(flags) < len(parts):
            valued.update(flags)
    skipped = 2 + len(words)  # usage: synapse send
    positionals = _OPTION_GROUP.sub("", usage).split()[skipped:]
    plain = [word if word == REPEATED else word.strip("[]<>") for word in positionals]
    return Grammar(options, frozenset(valued), plain)


def _help(words: list[str]) -> str | None:
    command = COMMANDS.get(words[0])
    os.environ["COLUMNS"] = "200"  # argparse shall not break its lines
    out = io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            if command is None:
                run.main(words[0], ["--help"])
            else:
                import_module(f"synapse.cli.{words[0].replace('-', '_')}").main([*words[1:], "--help"])
    except SystemExit:
        pass  # argparse
    except SynapseError:
        return None
    return out.getvalue()


def _of_kind(kind: str, command: str) -> Words:
    if "|" in kind or kind == "show":
        return [(choice, "") for choice in kind.split("|")]
    if kind in ("profile", "NAME"):
        from synapse.profiles.loader import profile_names

        return [(name, "a profile") for name in profile_names()]
    if kind == "target":
        return _everybody() if command == "send" else _running()
    if kind == "alias":
        return _elsewhere()
    return _tasks() if kind == "task" else []


def _running() -> Words:
    from synapse.registry import AgentRegistry

    entries = AgentRegistry().list_agents().values()
    return [(str(entry["name"]), f"{entry['status']} in {entry['working_dir']}") for entry in entries]


def _everybody() -> Words:
    """Each name once: an agent that runs here comes before one elsewhere that is called the same."""
    running = _running()
    names = {name.casefold() for name, _ in running}
    elsewhere = [(alias, url) for alias, url in _elsewhere() if alias.casefold() not in names]
    return [
        *(*running, *elsewhere),
        *(("all", "everybody who runs"), ("all-here", "everybody in this directory")),
    ]


def _elsewhere() -> Words:
    from synapse.peers.external.agents import ExternalAgentRegistry

    return [(agent.alias, agent.url) for agent in ExternalAgentRegistry().list_agents()]


def _tasks() -> Words:
    from synapse.tasks.shelf import list_tasks
    from synapse.tasks.task import message_text

    return [
        (task.id[:8], f"{task.state}: {message_text(task.message)[:60]}")
        for _, task in list_tasks(None, TASKS_OFFERED)
    ]
