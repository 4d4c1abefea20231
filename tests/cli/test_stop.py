"""`synapse stop` with several names."""

from __future__ import annotations

import subprocess

from tests.support.home import Home


def test_those_that_run_are_stopped_even_if_another_cannot_be_found(home: Home) -> None:
    for name in ("a", "b", "c"):
        home.run("start", "dummy", "--name", name)
    done = subprocess.run(
        home.command("stop", "a", "nosuch", "c"),
        env=home.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 3
    error, *stopped = done.stdout.splitlines()
    assert "nosuch" in error and stopped == ["stopped a", "stopped c"]
    assert set(home.agents()) == {"b"}
