"""`synapse run`: execute a script whose steps are tasks, and continue it after a kill."""

from __future__ import annotations

import argparse

from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser, number
from synapse.errors import UsageError

HELP = """\
Execute a Python script whose steps are tasks of agents. Every reply is kept: if the run is interrupted or
killed, start it again with the same --run ID, or with --resume. Steps that were answered are not asked again.

  synapse run FILE.py
  synapse run FILE.py --resume
  synapse run FILE.py --max-turns 20 -- --an-option-of-the-script
  synapse run --list

A script:

  from synapse.run import ask, gather
  plan = ask("claude", "Plan the change")
  print(ask("codex", f"Review this plan: {plan}"))

Exit status: that of the script; 1 a step failed, 2 wrong usage, 130 interrupted.
"""
MOST = 10**9


def parser() -> Parser:
    found = Parser("synapse run", HELP, allow_abbrev=False)
    found.add_argument("script", nargs="?", metavar="FILE.py", help="a Python file, or a name from --list")
    found.add_argument("--run", metavar="ID", help="the id of the run; the same id continues it")
    found.add_argument("--resume", action="store_true", help="continue the last run of this script")
    found.add_argument("--list", action="store_true", help="list the scripts that can be run by name")
    found.add_argument(
        "--on-question",
        choices=("wait", "fail"),
        default="wait",
        help="what to do without a terminal when an agent asks something (default: wait)",
    )
    for name in ("turns", "tokens", "messages"):
        found.add_argument(
            f"--max-{name}",
            type=number(int, 0, MOST),
            metavar="N",
            help=f"ask no more after N {name}; 0: no limit",
        )
    found.add_argument("args", nargs="*", metavar="ARGS", help="everything else goes to the script")
    return found


def main(argv: list[str]) -> int:
    options, rest = _parsed(argv)
    if options.list:
        return _list()
    if options.script is None:
        raise UsageError("no script is named: use `synapse run FILE.py`, or `synapse run --list`.")
    if options.run and options.resume:
        raise UsageError("--run names the run and --resume means the last one: use one of them.")
    return execute_named(options.script, rest, options)


def execute_named(name: str, args: list[str], options: argparse.Namespace) -> int:
    """Execute a script by its path or name, with the options of `parser`."""
    from synapse.run import catalog
    from synapse.run.script import Order, check_id, execute

    path = catalog.find(name)
    return execute(
        Order(
            path,
            args,
            run_id=check_id(options.run) if options.run else "",
            resume=options.resume,
            on_question=options.on_question,
            limits={limit: getattr(options, f"max_{limit}") for limit in ("turns", "tokens", "messages")},
            title=name if name in catalog.scripts() else "",
        )
    )


def script_parser(name: str) -> argparse.ArgumentParser:
    """The options of a script of `synapse/runs/` that is a command too."""
    from importlib import import_module

    found: argparse.ArgumentParser = import_module(f"synapse.runs.{name}").parser()
    found.epilog = "The options of `synapse run` (--resume, --run ID, --max-turns N …) come first."
    return found


def script_main(name: str, argv: list[str]) -> int:
    if argv in (["-h"], ["--help"]):
        script_parser(name).print_help()
        return 0
    return main([name, *argv])


def _parsed(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options stand before or directly behind the script. From the first other word on, or behind `--`,
    everything belongs to the script."""
    found = parser()
    ours: list[str] = []
    script, position = False, 0
    while position < len(argv) and argv[position] != "--":
        word = argv[position]
        if word.partition("=")[0] in found.option_strings:
            count = 2 if found.takes_value(word) else 1
            ours += argv[position : position + count]
            position += count
        elif script:
            return found.parse_args(ours), argv[position:]
        else:
            script = not word.startswith("-")
            ours.append(word)
            position += 1
    return found.parse_args(ours), argv[position + 1 :]


def _list() -> int:
    from synapse.base.paths import shortened
    from synapse.run import catalog

    for name, path in catalog.scripts().items():
        mine = "" if path.startswith(catalog.builtin_dir()) else f" ({shortened(path)})"
        say(f"{name:<12} {catalog.summary(path)}{mine}")
    return 0
