"""The tests of the tests: what a run says and does when a test misbehaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLUGINS = ("times", "fast", "outcomes", "tidy")


def run(folder: Path, source: str, *options: str) -> str:
    """What pytest prints for a module with this source."""
    (folder / "test_it.py").write_text(source)
    plugins = [word for name in PLUGINS for word in ("-p", f"tests.support.{name}")]
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-q", "-p", "no:cacheprovider", *plugins]
    done = subprocess.run(
        [*command, *options, str(folder)],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTEST_ADDOPTS": "",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


LEAVING = {
    "process": "import subprocess\nkept = subprocess.Popen(['sleep', '60'])",
    "port": "import socket\nglobal kept\nkept = socket.create_server(('127.0.0.1', 0))",
    "file": "import tempfile\ntempfile.mkdtemp()",
    "home": "import os\nopen(os.path.expanduser('~/left'), 'w').close()",
}


@pytest.mark.parametrize("what", LEAVING)
def test_what_a_test_leaves_behind_fails_it_and_not_its_neighbour(tmp_path: Path, what: str) -> None:
    body = LEAVING[what].replace("\n", "\n    ").replace("kept = sub", "global kept; kept = sub")
    end = "\nimport atexit\natexit.register(lambda: kept.kill())" if what == "process" else ""
    said = run(tmp_path, f"def test_leaves():\n    {body}\n\ndef test_neighbour(): pass\n{end}")
    assert "left behind: " in said and "2 passed, 1 error" in said, said
    assert "teardown of test_leaves" in said and "teardown of test_neighbour" not in said


def test_a_fixture_of_a_module_may_last_as_long_as_it(tmp_path: Path) -> None:
    source = """\
import pytest, tempfile, shutil
@pytest.fixture(scope="module")
def folder():
    made = tempfile.mkdtemp()
    yield made
    shutil.rmtree(made)
def test_one(folder): pass
def test_two(): pass
"""
    assert "2 passed" in run(tmp_path, source)


def test_what_was_skipped_is_said_in_three_lines(tmp_path: Path) -> None:
    source = """\
import pytest
@pytest.mark.parametrize("n", range(39))
def test_it(n): pytest.skip("zsh is not installed" if n % 3 else "there is no tmux here" if n else "odd")
"""
    said = run(tmp_path, source)
    assert "not installed: zsh (26), tmux (12)." in said and "Skipped for other reasons: odd (1)." in said
    assert sum("kipped" in line for line in said.splitlines()) == 3, said


def test_a_fast_test_that_starts_a_process_fails(tmp_path: Path) -> None:
    source = "import os\ndef test_it():\n    os.posix_spawn('/bin/true', ['true'], {})\n"
    said = run(tmp_path, source, "--fast")
    assert "starts a process" in said and "1 failed" in said
    assert "1 deselected in" in run(tmp_path, "import subprocess\ndef test_it(): pass\n", "--fast")


def test_failures_are_written_for_the_script_that_runs_them_again(tmp_path: Path) -> None:
    kept = tmp_path / "failures"
    run(tmp_path, "def test_it(): assert 1 == 2, 'no'\ndef test_other(): pass\n", f"--failures={kept}")
    [report] = map(json.loads, kept.read_text().splitlines())
    assert report["test"].endswith("::test_it") and "assert 1 == 2" in report["error"]


def test_the_order_depends_on_the_seed_alone(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.parametrize('n', range(20))\ndef test_it(n): print(n)\n"
    orders = [run(tmp_path, source, "-s", *words) for words in ((), *(("--random-order", s) for s in "112"))]
    lists = [[w.strip(".") for w in said.split() if w.strip(".").isdigit()][:20] for said in orders]
    assert lists[0] != lists[1] == lists[2] != lists[3]


# In place of make and pytest: the first run fails the tests that the file `fails` names, the second `still`.
MAKE = """\
#!/bin/sh
for test in $(cat fails 2>/dev/null); do
    printf '{"test": "%s", "error": "first failure of %s"}\\n' $test $test >>"${PYTEST_ADDOPTS#--failures=}"
done
test ! -e fails
"""
PYTEST = MAKE.replace("fails", "still")


@pytest.mark.parametrize(
    ("fails", "still", "status", "says"),
    [
        (None, None, 0, "all groups of tests passed"),
        ("a b", None, 0, "2 TESTS FAILED AND THEN PASSED"),
        ("a b c", None, 1, "3 tests failed and then passed, and 2 may"),
        ("a b", "b", 1, "failed: make test"),
        ("", None, 1, "no test says why"),
    ],
)
def test_what_fails_once_is_said_and_more_than_two_fail_the_run(
    tmp_path: Path, fails: str | None, still: str | None, status: int, says: str
) -> None:
    for path, text in (("bin/make", MAKE), (".venv/bin/python", PYTEST)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)
    for name, tests in (("fails", fails), ("still", still)):
        if tests is not None:
            (tmp_path / name).write_text(tests)
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "SYNAPSE_FLAKY_LOG": str(tmp_path / "kept")}
    command = [sys.executable, str(ROOT / "scripts" / "ci_tests.py"), "test"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == status and says in done.stdout, done.stdout + done.stderr
    passed_later = set((fails or "").split()) - set((still or "").split())
    kept = tmp_path / "kept"
    written = map(json.loads, kept.read_text().splitlines()) if kept.exists() else ()
    assert {(r["test"], r["error"]) for r in written} == {(t, f"first failure of {t}") for t in passed_later}
