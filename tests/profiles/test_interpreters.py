"""Instructions are not typed to a program that would run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse.profiles import interpreters
from synapse.profiles.interpreters import runs_what_it_reads
from synapse.profiles.loader import instruction_method, pack_fields, unpack_profile


@pytest.mark.parametrize(
    "command",
    [
        "bash",
        "/bin/bash --norc -i",
        "zsh -l",
        "fish",
        "env FOO=1 bash",
        "sudo -E sh",
        "python3",
        "/usr/bin/python3.12 -i -q",
        "node",
        "psql mydb",
        "sqlite3 app.db",
        "ssh box",
        "docker exec -it web bash",
        "rlwrap guile",
    ],
)
def test_it_runs_what_it_reads(command: str) -> None:
    assert runs_what_it_reads(command.split())


@pytest.mark.parametrize(
    "command",
    [
        "claude",
        "aider --model x",
        "opencode",
        "bash agent.sh",
        "sh -c exec",
        "python3 -m my.agent",
        "/usr/bin/python3 agent.py",
        "node cli.js",
        "env aider",
        "my-agent bash",
        "basher",
    ],
)
def test_it_is_a_program_of_its_own(command: str) -> None:
    assert not runs_what_it_reads(command.split())


def test_a_shell_that_the_system_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shells").write_text("# shells\n/opt/ours/bin/oddsh\n")
    monkeypatch.setattr(interpreters, "ETC_SHELLS", str(tmp_path / "shells"))
    assert runs_what_it_reads(["/opt/ours/bin/oddsh"]) and not runs_what_it_reads(["/opt/bin/oddsh"])
    monkeypatch.setattr(interpreters, "ETC_SHELLS", str(tmp_path / "none"))
    assert not runs_what_it_reads(["/opt/ours/bin/oddsh"])


@pytest.mark.parametrize(
    ("fields", "setting", "method"),
    [
        ({"command": "bash"}, "auto", "off"),
        ({"command": "bash"}, "typed", "off"),
        ({"command": "bash", "args": ["agent.sh"]}, "auto", "message"),
        ({"command": "bash", "instructions": {"method": "message"}}, "auto", "message"),
        ({"command": "bash", "channel": "events"}, "auto", "message"),
        ({"command": "aider"}, "auto", "message"),
        ({"command": "aider"}, "typed", "typed"),
    ],
)
def test_what_a_profile_gets(fields: dict[str, object], setting: str, method: str) -> None:
    assert instruction_method(unpack_profile(pack_fields("mine", fields)), setting) == method
