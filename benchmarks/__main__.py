"""`python -m benchmarks [echo|bulk|… …]` runs all benchmarks, or those that are named."""

from __future__ import annotations

import importlib
import signal
import sys
import time
import traceback

from benchmarks.table import render

NAMES = (
    *("echo", "bulk", "start", "commands", "footprint", "parser", "tasks", "messages", "overlay"),
    "sending",
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {' or '.join(unknown)}: there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    rows, broken = [], 0
    for name in names or NAMES:
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        started = time.monotonic()
        try:
            rows += importlib.import_module(f"benchmarks.{name}").run()
        except Exception:  # the figures of the others are printed all the same
            traceback.print_exc()
            broken = 1
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(render(rows))
    return broken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
