"""`python -m benchmarks [echo|bulk|… …]` runs all benchmarks, or those that are named."""

from __future__ import annotations

import importlib
import signal
import sys
import time
import traceback

from benchmarks.table import Row, render

NAMES = (
    *("echo", "interrupt", "bulk", "start", "commands", "footprint", "parser", "tasks", "messages"),
    *("overlay", "sending", "runs", "kills", "view", "mcp", "mesh"),
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {' or '.join(unknown)}: there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    rows: list[Row] = []
    broken = 0
    try:
        for name in names or NAMES:
            broken |= _run(name, rows)
    finally:  # also after Ctrl-C: the figures of those that ran are printed
        print(render(rows))
    return broken


def _run(name: str, rows: list[Row]) -> int:
    """Add its rows, also those before a failure; returns whether it failed."""
    print(f"{name} …", end=" ", file=sys.stderr, flush=True)
    started = time.monotonic()
    try:
        for row in importlib.import_module(f"benchmarks.{name}").run():
            rows.append(row)
        return 0
    except Exception:  # the figures of the others are printed all the same
        traceback.print_exc()
        return 1
    finally:
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
