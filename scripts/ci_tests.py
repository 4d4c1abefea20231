"""Runs the groups of tests that `.ci/run` names, one after the other; ends with 1 if one failed.

A test that fails runs once more, alone. If it passes then, it is printed at the end with its first failure
and added to a file that is kept; more than two of them fail the run. Every group runs, so that one run shows
all that is wrong.

    python scripts/ci_tests.py test test-web
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ALLOWED = 2  # tests that fail and then pass
KEPT = Path(
    os.environ.get("SYNAPSE_FLAKY_LOG") or Path.home() / ".cache" / "synapse-a2a" / "flaky-tests.jsonl"
)
# What each group needs to be run again by pytest alone.
GROUPS = {
    "test": ({}, ["tests"]),
    "test-real": ({"SYNAPSE_REAL": "1"}, ["tests/real"]),
    "test-real-core": ({"SYNAPSE_REAL": "core"}, ["tests/real"]),
    "test-web": ({"SYNAPSE_WEB": "1"}, ["tests/web"]),
    "test-mesh": ({"SYNAPSE_MESH": "1"}, ["tests/machines", "tests/mesh"]),
}


def failures(path: Path) -> dict[str, str]:
    """The first failure of each test in the file."""
    found: dict[str, str] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        report = json.loads(line)
        found.setdefault(report["test"], report["error"])
    return found


def run(group: str, folder: Path) -> tuple[bool, dict[str, str]]:
    """Whether the group passed, if need be at the second try, and what passed only then."""
    variables, places = GROUPS[group]
    first, second = folder / f"{group}-1", folder / f"{group}-2"
    if subprocess.run(["make", group], env=_environment(first)).returncode == 0:
        return True, {}
    failed = failures(first)
    if not failed:
        print(f"*** make {group} FAILED, and no test says why: it is not run again ***", flush=True)
        return False, {}
    print(f"*** {len(failed)} TESTS OF make {group} FAILED: they run once more, alone ***", flush=True)
    pytest = [
        ".venv/bin/python",
        "-m",
        "pytest",
        "-n",
        "0",
        "--last-failed",
        "--last-failed-no-failures",
        "none",
    ]
    again = subprocess.run([*pytest, *places], env={**_environment(second), **variables}).returncode
    still = failures(second)
    return again == 0, {test: error for test, error in failed.items() if test not in still}


def _environment(path: Path) -> dict[str, str]:
    return {**os.environ, "PYTEST_ADDOPTS": f"--failures={path}"}


def main(groups: list[str]) -> int:
    wrong, flaky = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            passed, retried = run(group, Path(folder))
            flaky |= retried
            wrong += [] if passed else [f"make {group}"]
    if flaky:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        with KEPT.open("a") as file:
            for test, error in flaky.items():
                report = {"at": when, "commit": commit.stdout.strip(), "test": test, "error": error}
                file.write(json.dumps(report) + "\n")
        print(f"\n*** {len(flaky)} TESTS FAILED AND THEN PASSED (also in {KEPT}) ***")
        for test, error in flaky.items():
            print(f"\n--- {test}\n{error}")
    if len(flaky) > ALLOWED:
        wrong.append(f"{len(flaky)} tests failed and then passed, and {ALLOWED} may")
    print("failed: " + "; ".join(wrong) if wrong else "all groups of tests passed", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
