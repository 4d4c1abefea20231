"""`synapse list`: list the running agents, once or continuously."""

import os
import signal
import sys
import time
from collections.abc import Sequence

from synapse.base import paths
from synapse.base.text import for_output
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import Parser, number
from synapse.registry import AgentRegistry, Entry
from synapse.terminal.cells import aligned, crop

_COLUMNS = ("NAME", "TYPE", "STATUS", "PORT", "PID", "DIRECTORY")


def parser() -> Parser:
    found = Parser("synapse list", "List the running agents.")
    found.add_json("print one JSON array of registry entries")
    found.add_argument("-w", "--watch", action="store_true", help="keep the list up to date until Ctrl-C")
    seconds = number(float, 0.1, 3600)
    found.add_argument(
        "-i", "--interval", type=seconds, default=2.0, metavar="SECONDS", help="for --watch (default: 2)"
    )
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    registry = AgentRegistry()
    if options.watch and not options.json:
        return _watch(registry, options.interval)
    entries = list(registry.list_agents().values())
    return show(options.json, entries, table(entries))


def table(entries: Sequence[Entry], width: int | None = None) -> list[str]:
    if not entries:
        return [
            "no agent is running: `synapse claude` runs one here, `synapse start claude` in the background"
        ]
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for entry in entries:
        directory = for_output(str(entry["working_dir"]).replace("\n", "?"))
        keys = ("name", "agent_type", "status", "port", "pid")
        rows.append((*(str(entry[key]) for key in keys), paths.shortened(directory)))
    lines = aligned(rows)
    return [crop(line, width) for line in lines] if width else lines


def _watch(registry: AgentRegistry, interval: float) -> int:
    """One screen, redrawn in place: each line overwrites the one before it, so nothing flickers."""
    if not sys.stdout.isatty():
        while True:
            print("\n".join(table(list(registry.list_agents().values()))), flush=True)
            time.sleep(interval)
    for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(signum, lambda signum, _: sys.exit(128 + signum))  # through the `finally` below
    print("\x1b[?1049h\x1b[?25l", end="")
    try:
        while True:
            size = os.get_terminal_size()
            lines = table(list(registry.list_agents().values()), size.columns)[: size.lines - 2]
            stamp = f"{time.strftime('%H:%M:%S')}  every {interval:g} s, Ctrl-C to leave"[: size.columns]
            body = "\x1b[K\r\n".join([*lines, "", stamp])
            print(f"\x1b[H{body}\x1b[K\x1b[J", end="", flush=True)
            time.sleep(interval)
    except KeyboardInterrupt:
        return 0
    finally:
        print("\x1b[?25h\x1b[?1049l", end="", flush=True)
