"""`synapse list`: list the running agents, once or continuously."""

from __future__ import annotations

import os
import signal
import sys
import time

from synapse.base import paths
from synapse.cli.shared.output import say, show
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import Parser, number
from synapse.peers.remote import machine_states, remote_entries
from synapse.registry import AgentRegistry, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
    entries = everybody(registry)
    return show(options.json, entries, table(entries, Page()))


def everybody(registry: AgentRegistry) -> list[Entry]:
    """The agents of this machine, then those of others."""
    return [*registry.list_agents().values(), *remote_entries()]


def table(entries: Sequence[Entry], page: Page) -> list[str]:
    if not entries:
        hint = "`synapse claude` runs one here, `synapse start claude` in the background"
        return page.wrapped(f"no agent is running: {hint}").split("\n") + machine_notes()
    hosts = any(entry.get("machine") for entry in entries)  # a column that most lists do not need
    rows: list[tuple[str, ...]] = [(*_COLUMNS[:5], "HOST", _COLUMNS[5]) if hosts else _COLUMNS]
    for entry in entries:
        directory = str(entry["working_dir"]).replace("\n", "?")
        shown = directory if entry.get("machine") else paths.shortened(directory)
        words = [str(entry[key]) for key in ("name", "agent_type", "status", "port", "pid")]
        if entry.get("stale"):
            words[2] = "stale"
        rows.append((*words, *([str(entry.get("host") or "-")] if hosts else []), shown))
    last = len(rows[0]) - 1
    drawn = page.table(rows, flexible=(last, 0, 1), ends=(last,), states=2)
    return [*drawn, *limits(entries), *map(page.wrapped, machine_notes())]


def machine_notes() -> list[str]:
    """A line for each machine that does not answer."""
    return [
        f"{one.name} does not answer: {one.note}" for one in machine_states() if not one.answers and one.note
    ]


def limits(entries: Sequence[Entry], now: float | None = None) -> list[str]:
    """A line for each agent whose CLI is at its limit."""
    now = time.time() if now is None else now
    found = [(str(entry["name"]), entry.get("limited_until")) for entry in entries]
    return [
        f"{name} is at its usage limit until {limit_end(until, now)}"
        for name, until in found
        if isinstance(until, float) and until > now
    ]


def limit_end(until: float, now: float) -> str:
    """The time of the day; with the date if it is not today."""
    at = time.localtime(until)
    return time.strftime("%H:%M" if until - now < 43200 else "%Y-%m-%d %H:%M", at)


def _watch(registry: AgentRegistry, interval: float) -> int:
    """One screen, redrawn in place: each line overwrites the one before it, so nothing flickers."""
    if not sys.stdout.isatty():
        while True:
            for line in table(everybody(registry), Page()):
                say(line, flush=True)
            time.sleep(interval)
    for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(signum, lambda signum, _: sys.exit(128 + signum))  # through the `finally` below
    print("\x1b[?1049h\x1b[?25l", end="")
    try:
        while True:
            size = os.get_terminal_size()
            page = Page(size.columns)
            lines = table(everybody(registry), page)[: size.lines - 2]
            stamp = f"{time.strftime('%H:%M:%S')}  every {interval:g} s, Ctrl-C to leave"[: size.columns]
            body = "\x1b[K\r\n".join([*lines, "", stamp])
            print(f"\x1b[H{body}\x1b[K\x1b[J", end="", flush=True)
            time.sleep(interval)
    except KeyboardInterrupt:
        return 0
    finally:
        print("\x1b[?25h\x1b[?1049l", end="", flush=True)
