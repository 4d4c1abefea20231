"""Runs an agent in a process without a terminal, and reports to the process that started it.

`python -m synapse.launch.detach` does it for a script (`synapse.controller`): it reads one JSON object from
standard input and writes its first report to standard output.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import TYPE_CHECKING

from synapse.base.processes import close_inherited, shell_status
from synapse.errors import SynapseError
from synapse.launch.run import run_agent
from synapse.launch.tokens import take_token
from synapse.profiles.loader import unpack_profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.launch.run import Report

PATIENCE = 30.0  # seconds for the first report


def become_daemon(run: Callable[[Report], int], name: str, pipe: int) -> int:
    """Leave the terminal and call `run` with a function for reports. Only the first one goes to `pipe`."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    close_inherited()  # a lock or a pipe of the starter must not stay with the agent

    def report(message: dict[str, object]) -> None:
        nonlocal pipe
        if pipe >= 0:
            written, pipe = pipe, -1  # its number may belong to another file from now on
            try:
                os.write(written, json.dumps(message).encode() + b"\n")
            except OSError:
                pass  # the starter is gone
            os.close(written)

    try:
        return run(report)
    except SynapseError as error:
        report({"error": str(error), "status": error.exit_status})
        return error.exit_status
    except BaseException as error:
        report({"error": f"cannot start {name}: {error!r}", "status": 1})
        raise


def first_report(fd: int, name: str) -> dict[str, object]:
    """`{"ready": entry}` or `{"ended": status, "output": text}`. Raises SynapseError for everything else."""
    data, deadline = b"", time.monotonic() + PATIENCE
    while not data.endswith(b"\n"):
        readable, _, _ = select.select([fd], [], [], max(deadline - time.monotonic(), 0))
        chunk = os.read(fd, 1 << 16) if readable else b""
        if not chunk:
            raise SynapseError(f"{name} did not answer within {PATIENCE:g} s: see `synapse logs {name}`.")
        data += chunk
    message = dict(json.loads(data))
    if "error" in message:
        error = SynapseError(str(message["error"]))
        error.exit_status = int(str(message["status"]))
        raise error
    return message


def main() -> int:
    given = json.load(sys.stdin)
    packed = given["profile"]
    profile = unpack_profile(packed)

    def run(report: Report) -> int:
        token = take_token(None, None)
        return shell_status(
            run_agent(profile, (), given["name"], given["port"], report=report, token=token, packed=packed)
        )

    return become_daemon(run, profile.name, os.dup(1))


if __name__ == "__main__":
    raise SystemExit(main())
