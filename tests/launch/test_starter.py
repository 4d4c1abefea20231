"""Agents of `config.yaml`: started when a message is sent to them, and all at once."""

from __future__ import annotations

import pytest

from synapse.config import load_settings
from synapse.errors import NoSuchAgent, SynapseError
from synapse.launch.starter import Starter, find_or_start
from tests.support.home import Home

CONFIG = """\
agents:
  dummy: {port: %d, auto_start: true}
  Reviewer: {profile: dummy, auto_start: true}
  manual: {profile: dummy}
  broken: {profile: nothing-there, auto_start: true}
"""


@pytest.fixture
def configured(home: Home) -> Home:
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    folder = home.path / "synapse"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(CONFIG % port)
    home.env["PORT"] = str(port)
    return home


def test_a_message_starts_the_agent(configured: Home) -> None:
    done = configured.run("send", "dummy", "--return", "say hello")
    assert done.stdout == "hello\n" and done.stderr == "synapse: starting dummy (dummy) …\n"
    assert configured.agents()["dummy"]["port"] == int(configured.env["PORT"])
    assert configured.run("send", "--line", input="@reviewer --return say hi").stdout == "hi\n"
    assert set(configured.agents()) == {"dummy", "Reviewer"}  # as the file writes it
    assert configured.run("send", "reviewer", "--return", "say again").stderr == ""


def test_what_is_not_started_says_so(configured: Home) -> None:
    done = configured.run("send", "manual", "hi", check=False)
    assert done.returncode == 3 and "synapse start manual" in done.stderr and "auto_start" in done.stderr
    done = configured.run("send", "broken", "hi", check=False)
    assert done.returncode == 1 and "broken did not start: " in done.stderr and "nothing-there" in done.stderr
    for word, near in (("manul", "manual"), ("codx", "codex"), ("qqq", "synapse list")):
        with pytest.raises(NoSuchAgent, match=near):
            find_or_start(word)
    with pytest.raises(SynapseError, match="did not start"):
        find_or_start("broken")
    assert Starter(load_settings().agents, "/", 0o077).names == {"dummy", "Reviewer", "broken"}
    assert configured.agents() == {}


def test_all_of_them(configured: Home) -> None:
    assert configured.run("start", "manual").stdout.startswith("started manual at")
    done = configured.run("start", "--all", check=False)
    assert done.returncode == 1 and done.stderr.startswith("synapse: broken did not start: ")
    assert sorted(line.split()[:2] for line in done.stdout.splitlines()) == [
        ["manual", "is"],
        ["started", "Reviewer"],
        ["started", "dummy"],
    ]
    assert set(configured.agents()) == {"dummy", "Reviewer", "manual"}


def test_all_of_nothing(home: Home) -> None:
    done = home.run("start", "--all", check=False)
    assert done.returncode == 2 and "agents:" in done.stderr
