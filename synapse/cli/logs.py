"""`synapse logs`: what an agent has written, and Synapse's own log of it."""

import os
import sys
import time
from typing import Any

from synapse.base import paths
from synapse.cli.shared.agents import find_agent_here
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import AGENT, Parser, number
from synapse.errors import SynapseError, TargetError
from synapse.peers import control
from synapse.registry import Entry

HELP = "Show the rendered output of an agent, running or ended, and Synapse's own log of it."
FOLLOW_EVERY = 0.3  # seconds


def parser() -> Parser:
    found = Parser("synapse logs", HELP)
    found.add_word("target", AGENT, help="an agent's name; for a running agent also its type or id")
    found.add_argument("-f", "--follow", action="store_true", help="print new lines until Ctrl-C")
    count = number(int, 0, 1_000_000)
    found.add_argument(
        "-n", "--lines", type=count, default=40, metavar="N", help="print the last N lines of each (40)"
    )
    which = found.add_mutually_exclusive_group()
    which.add_argument("--output", action="store_true", help="only what the agent has written")
    which.add_argument("--log", action="store_true", help="only Synapse's own log")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    name, entry = _find(options.target)
    wanted = [] if options.log else [("output", paths.output_file(name))]
    wanted += [] if options.output else [("synapse", paths.log_file(name))]
    if options.follow:
        return _follow(wanted, options.lines)
    for label, path in wanted:
        lines: Any = _tail(path, options.lines)
        if label == "output" and entry:
            lines = control.call(entry, "GET", "/terminal/contents")["lines"]
        if len(wanted) > 1:
            say(f"── {label}: {name} ".ljust(60, "─"))
        for line in lines[-options.lines :] if options.lines else []:
            say(line)
    return 0


def _find(target: str) -> tuple[str, Entry | None]:
    """A running agent by any of its names, or one that has ended and left its log."""
    try:
        entry = find_agent_here(target)
        return str(entry["name"]), entry
    except TargetError:
        if os.path.basename(target) == target and os.path.exists(paths.log_file(target)):
            return target, None
        raise


def _tail(path: str, count: int) -> list[str]:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 400 * (count + 1) - 4096, 0))
            return file.read().decode("utf-8", "replace").splitlines()[-count:] if count else []
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SynapseError(f"cannot read {path}: {error.strerror}.") from error


class _Follower:
    """The lines that are added to a file, also after it was rotated."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            status = os.stat(path)
            self._inode, self._offset = status.st_ino, status.st_size
        except OSError:
            self._inode = self._offset = 0

    def new_lines(self) -> list[str]:
        try:
            status = os.stat(self._path)
            if status.st_ino != self._inode or status.st_size < self._offset:
                self._inode, self._offset = status.st_ino, 0
            if status.st_size == self._offset:
                return []
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.decode("utf-8", "replace").splitlines()


def _follow(wanted: list[tuple[str, str]], count: int) -> int:
    followers = [(label, _Follower(path)) for label, path in wanted]
    found = [(label, _tail(path, count)) for label, path in wanted]
    while True:
        for label, lines in found:
            for line in lines:
                say(f"{label:<7} │ {line}")
        sys.stdout.flush()
        time.sleep(FOLLOW_EVERY)
        found = [(label, follower.new_lines()) for label, follower in followers]
