"""`synapse runs`: list, show, cancel and remove runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

from synapse.base.text import for_output
from synapse.cli.shared.output import print_json, say
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import Parser, number
from synapse.errors import UsageError
from synapse.run import listing
from synapse.run.journal import Step
from synapse.terminal.cells import crop, width

HELP = """\
List the runs of `synapse run`, or show, cancel or remove one.

  synapse runs                  every run, the newest first
  synapse runs show ID [-w]     its steps as a tree, with agent, state, time and tokens; -w goes on
  synapse runs cancel ID        stop it, cancel what it has asked, stop its workers
  synapse runs prune [ID]       remove one run, or all that ended more than a week ago
"""
ACTIONS = ("list", "show", "cancel", "prune")


def parser() -> Parser:
    found = Parser("synapse runs", HELP)
    found.add_argument("action", nargs="?", choices=ACTIONS, default="list", help="default: list")
    found.add_argument("run", nargs="?", metavar="ID", help="the id of a run, or the beginning of it")
    found.add_argument("-w", "--watch", action="store_true", help="go on until Ctrl-C or the end of the run")
    found.add_argument(
        "-i",
        "--interval",
        type=number(float, 0.1, 3600),
        default=1.0,
        metavar="S",
        help="seconds between looks",
    )
    return found.add_json("print one JSON document")


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if options.action in ("show", "cancel") and not options.run:
        raise UsageError(f"no run is named: use `synapse runs {options.action} ID`.")
    if options.json and options.watch:
        raise UsageError("--json prints one document and -w goes on: use one of them.")
    if options.action == "cancel":
        return _cancel(options.run)
    if options.action == "prune":
        removed = listing.prune(options.run)
        say(f"removed {', '.join(removed)}" if removed else "there is nothing to remove")
        return 0
    if options.json:
        found = [run.to_dict() for run in ([listing.read(options.run)] if options.run else listing.runs())]
        print_json(found[0] if options.run else found)
        return 0
    return _show(options)


def _show(options: object) -> int:
    run_id, watch = getattr(options, "run", None), getattr(options, "watch", False)
    while True:
        found = [listing.read(run_id)] if run_id else listing.runs()
        lines = list(_tree(found[0]) if run_id else _table(found))
        if watch and sys.stdout.isatty():
            print("\x1b[H\x1b[2J", end="")
        for line in lines:
            say(line, flush=True)
        if not watch or (run_id and found[0].state != "running"):
            return 0
        time.sleep(float(getattr(options, "interval", 1.0)))


def _table(found: Iterable[listing.Listed]) -> Iterator[str]:
    rows = [("RUN", "STATE", "STEPS", "TOKENS", "AGE")]
    for run in found:
        about = run.to_dict()
        done = sum(step["state"] == "completed" for step in about["steps"])
        age = _time(time.time() - run.created_at)
        rows.append((run.id, run.state, f"{done}/{len(about['steps'])}", str(about["tokens"] or "-"), age))
    if len(rows) == 1:
        yield "there is no run: `synapse run FILE.py` starts one"
        return
    yield from Page().table(rows, flexible=(0,), states=1)


def _tree(run: listing.Listed) -> Iterator[str]:
    about = run.to_dict()
    words = " ".join([run.title, *run.args])
    why = f": {for_output(run.error)}" if run.error else ""
    yield f"{run.id}  {for_output(words)}  {run.state}{why}"
    used = f"{_counted(about['turns'], 'turn')}, {_counted(about['messages'], 'message')}"
    yield f"  {used}, {about['tokens']} tokens" if about["tokens"] else f"  {used}"
    for step in run.steps:
        yield _line(step)
    for line in about["log"]:
        yield f"  · {for_output(line['text'])}"


def _line(step: Step) -> str:
    took = _time((step.ended_at or time.time()) - step.asked_at)
    indent = "  " * (1 + step.depth)
    more = f", attempt {step.attempt}" if step.attempt > 1 else ""
    more += f", {step.tokens} tokens" if step.tokens else ""
    why = f": {for_output(step.error)}" if step.error and step.state != "completed" else ""
    head = f"{indent}{step.key}  {step.agent}  {step.state} {took}{more}{why}"
    page = Page()
    room = (page.columns or 120) - width(head) - 4
    prompt = f"  “{crop(' '.join(step.prompt.split()), room)}”" if room > 10 else ""
    return page.line(f"{head}{prompt}", len(indent) + 2, step.state)


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def _cancel(run_id: str) -> int:
    from synapse.run.cancel import cancel_run

    for line in cancel_run(run_id):
        say(line)
    return 0


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
