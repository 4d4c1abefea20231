"""`synapse completion`: scripts for shells, and the words they offer, from the commands' parsers."""

import argparse
from collections.abc import Callable
from importlib import import_module

from synapse.base.commands import COMMANDS
from synapse.base.text import for_line
from synapse.cli import agent
from synapse.cli.shared.parser import (
    AGENT,
    EXTERNAL,
    MACHINE,
    PROFILE,
    QUESTION,
    RECIPIENT,
    SETTING,
    SHELL,
    TASK,
    Parser,
)
from synapse.cli.shell_hook import SHELLS, add_shell, script
from synapse.errors import SynapseError

HELP = """\
Print a script that completes commands, options, profiles, running agents, tasks and questions. To install
it, add one line at the end of

  ~/.bashrc                     eval "$(synapse completion bash)"
  ~/.zshrc                      eval "$(synapse completion zsh)"
  ~/.config/fish/config.fish    synapse completion fish | source
"""

Words = list[tuple[str, str]]  # each word with its description
TASKS_OFFERED = 20
REPEATED = ("*", "+", argparse.REMAINDER)


def parser() -> Parser:
    return add_shell(Parser("synapse completion", HELP))


def main(argv: list[str]) -> int:
    if argv[:1] == ["--words"]:
        return _print_words(argv[1:])
    print(script("completion", parser().parse_args(argv).shell), end="")
    return 0


def _print_words(line: list[str]) -> int:
    """A shell calls this on Tab with the words up to the cursor, the last of them unfinished."""
    found = complete(line)
    for word, meaning in found:
        print(f"{for_line(word)}\t{for_line(' '.join(meaning.split()))}")
    return 0 if found else 1


def complete(line: list[str]) -> Words:
    program, *words = line or [""]
    if program.endswith("synapse-send"):
        words = ["send", *words]
    *before, current = words or [""]
    try:
        offered = _after(_parser(before[0]), before[1:], current) if before else _first_words()
    except SynapseError:
        return []  # no such profile, or an invalid file, which the command itself reports
    return [(word, meaning) for word, meaning in offered if word.startswith(current)]


def _first_words() -> Words:
    return [*COMMANDS.items(), *((name, "run this agent here") for name, _ in _profiles())]


def _parser(word: str) -> Parser:
    if word not in COMMANDS:
        return agent.parser(word)
    found: Parser = import_module(f"synapse.cli.{word.replace('-', '_')}").parser()
    return found


def _after(parser: Parser, words: list[str], current: str) -> Words:
    options = {name: action for action in parser._actions for name in action.option_strings}
    positionals = [action for action in parser._actions if not action.option_strings]
    value_of: argparse.Action | None = None  # the option whose value comes next
    for number, word in enumerate(words):
        if value_of is not None:
            value_of = None
        elif word == "--":
            return []
        elif word.startswith("-") and word != "-":
            option = options.get(word)
            value_of = option if option is not None and option.nargs != 0 else None
        elif not positionals:
            return []
        elif isinstance(positionals[0], argparse._SubParsersAction):
            inner = positionals[0].choices.get(word)
            return _after(inner, words[number + 1 :], current) if inner else []
        elif positionals[0].nargs == argparse.REMAINDER:
            return []  # the rest belongs to another program
        elif positionals[0].nargs not in REPEATED:
            positionals.pop(0)
    if value_of is not None:
        return _values(parser, value_of)
    if current.startswith("-"):
        return [pair for action in parser._actions for pair in _names(action)]
    return _values(parser, positionals[0]) if positionals else []


def _names(action: argparse.Action) -> Words:
    if action.help == argparse.SUPPRESS:
        return []
    long = [name for name in action.option_strings if name.startswith("--")]
    return [(name, action.help or "") for name in long or action.option_strings]


def _values(parser: Parser, action: argparse.Action) -> Words:
    if isinstance(action, argparse._SubParsersAction):
        return [(choice.dest, choice.help or "") for choice in action._get_subactions()]
    words = WORDS.get(parser.takes.get(action.dest, ""))
    return words() if words else [(str(choice), "") for choice in action.choices or ()]


def _profiles() -> Words:
    from synapse.profiles.files import profile_names

    return [(name, "a profile") for name in profile_names()]


def _running() -> Words:
    from synapse.peers.remote import remote_sources
    from synapse.registry import AgentRegistry

    entries = AgentRegistry().list_agents().values()
    here = [(str(entry["name"]), f"{entry['status']} in {entry['working_dir']}") for entry in entries]
    return here + [(one.name, one.about) for source in remote_sources() for one in source.listed()]


def _recipients() -> Words:
    from synapse.peers.directory import open_directory
    from synapse.registry import is_group

    listed = sorted(open_directory().listed(), key=lambda one: is_group(one.name))
    return [(one.name, one.about) for one in listed]


def _external() -> Words:
    from synapse.peers.external.agents import ExternalAgentRegistry

    return [(agent.alias, agent.url) for agent in ExternalAgentRegistry().list_agents()]


def _machines() -> Words:
    from synapse.peers.remote import remote_sources

    return [(one.name, one.about) for source in remote_sources() for one in source.machines()]


def _settings() -> Words:
    from synapse.config import FIELDS

    return [(key, item.help) for key, item in FIELDS.items()]


def _tasks() -> Words:
    from synapse.tasks.shelf import list_tasks
    from synapse.tasks.task import message_text

    return [
        (task.id[:8], f"{task.state}: {message_text(task.message)[:60]}")
        for _, task in list_tasks(None, TASKS_OFFERED)
    ]


def _questions() -> Words:
    import asyncio

    from synapse.peers.prompts import about
    from synapse.peers.questions import list_questions
    from synapse.registry import AgentRegistry

    asked = asyncio.run(list_questions(AgentRegistry(), patience=0.5)).questions
    return [(str(q["id"]), f"{q['agent']}: {about(q)}") for q in asked]


WORDS: dict[str, Callable[[], Words]] = {
    AGENT: _running,
    RECIPIENT: _recipients,
    EXTERNAL: _external,
    MACHINE: _machines,
    PROFILE: _profiles,
    SHELL: lambda: [(shell, "") for shell in SHELLS],
    SETTING: _settings,
    TASK: _tasks,
    QUESTION: _questions,
}
