"""Named points of the program, which a test can wait for and hold it at.

A test gives the descriptor of a directory (`--checkpoints FD`). Each checkpoint that is reached is a line in
the file `reached` there. If there is a FIFO of the checkpoint's name, the process waits until the test writes
to it, or is gone. Without a descriptor, as always outside of tests, `reached` returns at once.
"""

from __future__ import annotations

import os

from synapse.base import jsontext

_directory = -1


def report_to(directory: int) -> None:
    """OSError if it is no open descriptor. No program that this one starts inherits it."""
    global _directory
    os.set_inheritable(directory, False)
    _directory = directory


def descriptors() -> list[int]:
    """What another process of the same agent needs for `report_to`."""
    return [_directory] if _directory >= 0 else []


def reached(name: str, **detail: object) -> None:
    if _directory >= 0:
        _report(name, detail)


def _report(name: str, detail: dict[str, object]) -> None:
    try:
        hold = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=_directory)
    except OSError:
        hold = -1
    line = jsontext.dumps({"name": name, "pid": os.getpid(), "held": hold >= 0, **detail}) + "\n"
    try:
        lines = os.open("reached", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, dir_fd=_directory)
    except OSError:
        lines = -1  # the test is over
    if lines >= 0:
        os.write(lines, line.encode())
        os.close(lines)
    if hold >= 0:
        os.set_blocking(hold, True)
        os.read(hold, 1)  # the end of the file, if the test has ended
        os.close(hold)
