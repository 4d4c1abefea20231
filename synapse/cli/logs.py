"""`synapse logs`: what an agent has written, and Synapse's own log of it."""

from __future__ import annotations

import argparse
import os
import sys
import time

from synapse.base import paths
from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.parser import AGENT, Parser
from synapse.errors import SynapseError, TargetError
from synapse.peers import control
from synapse.registry import Entry

FOLLOW_EVERY = 0.3  # seconds


def parser() -> Parser:
    found = Parser(
        prog="synapse logs",
        description="Show the rendered output of an agent, running or ended, and Synapse's own log of it.",
    )
    found.add_word("target", AGENT, help="an agent's name; for a running agent also its type or id")
    found.add_argument("-f", "--follow", action="store_true", help="print new lines until Ctrl-C")
    found.add_argument(
        "-n", "--lines", type=_count, default=40, metavar="N", help="print the last N lines of each (40)"
    )
    which = found.add_mutually_exclusive_group()
    which.add_argument("--output", action="store_true", help="only what the agent has written")
    which.add_argument("--log", action="store_true", help="only Synapse's own log")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    name, entry = _find(options.target)
    wanted = [
        (label, path)
        for label, path, unwanted in (
            ("output", paths.output_file(name), options.log),
            ("synapse", paths.log_file(name), options.output),
        )
        if not unwanted
    ]
    if options.follow:
        return _follow(wanted, options.lines)
    for label, path in wanted:
        lines = _live_output(entry) if label == "output" and entry else _tail(path, options.lines)
        if len(wanted) > 1:
            print(f"── {label}: {name} ".ljust(60, "─"))
        for line in lines[-options.lines :] if options.lines else []:
            print(line)
    return 0


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number, 0 or more, not {text!r}")
    return int(text)


def _find(target: str) -> tuple[str, Entry | None]:
    """A running agent by any of its names, or one that has ended and left its log."""
    try:
        entry = find_agent(target)
        return str(entry["name"]), entry
    except TargetError:
        if os.path.basename(target) == target and os.path.exists(paths.log_file(target)):
            return target, None
        raise


def _live_output(entry: Entry) -> list[str]:
    lines = control.call(entry, "GET", "/terminal/contents")["lines"]
    assert isinstance(lines, list)
    return [str(line) for line in lines]


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
        self._inode = 0
        self._offset = 0
        try:
            status = os.stat(path)
            self._inode, self._offset = status.st_ino, status.st_size
        except OSError:
            pass

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
    for label, path in wanted:
        for line in _tail(path, count):
            print(f"{label:<7} │ {line}")
    while True:
        for label, follower in followers:
            for line in follower.new_lines():
                print(f"{label:<7} │ {line}")
        sys.stdout.flush()
        time.sleep(FOLLOW_EVERY)
