"""Runs chosen tests many times beside two processes that keep the processors busy, and counts.

python scripts/stress.py 50 tests/e2e/test_ends.py -k window
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

BUSY = 2


def main(count: int, arguments: list[str]) -> int:
    failed: collections.Counter[str] = collections.Counter()
    first: dict[str, str] = {}
    bad_runs = 0
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(1, count + 1):
                path = Path(folder) / str(number)
                pytest = [
                    sys.executable,
                    "-m",
                    "pytest",
                    "-n",
                    "2",
                    "-p",
                    "no:cacheprovider",
                    f"--failures={path}",
                ]
                done = subprocess.run([*pytest, *arguments], capture_output=True, text=True)
                lines = path.read_text().splitlines() if path.exists() else []
                for report in map(json.loads, lines):
                    failed[report["test"]] += 1
                    first.setdefault(report["test"], report["error"])
                bad_runs += done.returncode != 0
                if done.returncode and not lines:  # wrong arguments, no test, a crash
                    print(done.stdout + done.stderr)
                    return done.returncode
                print(f"run {number} of {count}: {done.stdout.strip().splitlines()[-1]}", flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for test, error in first.items():
        print(f"\n--- {test}: failed {failed[test]} of {count} times; first\n{error}")
    print(f"{count - bad_runs} of {count} runs passed beside {BUSY} busy processes")
    return 1 if bad_runs else 0


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2:]))
