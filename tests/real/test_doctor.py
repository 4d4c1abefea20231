"""`synapse doctor --drive --all` with the installed CLIs: all is as measured. The table is printed."""

from __future__ import annotations

import subprocess

import pytest

from synapse.agents.offline import find_prepare
from synapse.cli.shared.checks import drivable
from tests.real import apart
from tests.real.install import Installed, NotInstalled
from tests.support.home import SYNAPSE, Home

SECONDS = 300  # for the checks of one CLI: a busy machine is no difference


def places(installed: Installed) -> list[str]:
    """Where the programs are. Those with a Python of their own come last."""
    found = []
    for name in apart.NAMES:
        try:
            found += [str(apart.folder_of(name))] if find_prepare(name) else []
        except NotInstalled as error:
            print(f"{name} is not checked: {error}")
    return [str(installed.bin), str(installed.node.parent), "/usr/local/bin", "/usr/bin", "/bin", *found]


def test_every_cli_is_as_it_was_measured(
    installed: Installed, home: Home, pytestconfig: pytest.Config
) -> None:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        done = subprocess.run(
            [*SYNAPSE, "doctor", "--drive", "--all", "--timeout", str(SECONDS)],
            env={**home.env, "PATH": ":".join(places(installed)), "COLORTERM": "truecolor"},
            cwd=home.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS * len(drivable()),
        )
        print(f"\n{done.stdout}")
    assert done.returncode == 0, done.stdout + done.stderr
