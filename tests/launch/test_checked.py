"""The last check of a CLI is kept by its program; a changed program is told once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from synapse.launch import checked
from synapse.profiles.loader import Profile, load_profile
from tests.support.home import Home


@pytest.fixture
def profile(home: Home, tmp_path: Path) -> Profile:
    program = tmp_path / "cli"
    program.write_text("#!/bin/sh\nexit\n")
    program.chmod(0o755)
    home.profile("cli", f"command: {program}\n")
    with home.ours():
        return load_profile("cli")


def changed(profile: Profile, text: str) -> None:
    Path(profile.command[0]).write_text(text)


def test_only_a_program_that_was_checked_can_change(home: Home, profile: Profile) -> None:
    with home.ours():
        assert checked.last("cli") == {} and not checked.claim_note(profile)
        checked.keep(profile, "1.0", ["interrupt"], [])
        assert checked.last("cli")["differs"] == ["interrupt"]
        assert not checked.has_changed(checked.last("cli"), profile) and not checked.claim_note(profile)


def test_a_changed_program_is_told_once(home: Home, profile: Profile) -> None:
    with home.ours():
        checked.keep(profile, "1.0", [], [])
        changed(profile, "#!/bin/sh\nexit 1\n")
        assert checked.has_changed(checked.last("cli"), profile)
        assert [checked.claim_note(profile) for _ in range(3)] == [True, False, False]
        changed(profile, "#!/bin/sh\nexit 22\n")
        assert checked.claim_note(profile), "another change"
        checked.keep(profile, "2.0", [], [])
        assert not checked.claim_note(profile)


def test_a_program_of_the_same_size_is_known_by_its_time(home: Home, profile: Profile) -> None:
    with home.ours():
        checked.keep(profile, "1.0", [], [])
        os.utime(profile.command[0], (1, 1))
        assert checked.has_changed(checked.last("cli"), profile)


def test_a_damaged_file_is_no_check(home: Home, profile: Profile) -> None:
    with home.ours():
        checked.keep(profile, "1.0", [], [])
        (home.path / "synapse" / "checks" / "cli.json").write_text('{"at": "yesterday"}')
        assert checked.last("cli") == {} and not checked.claim_note(profile)


def test_a_program_that_is_gone_has_not_changed(home: Home, profile: Profile) -> None:
    with home.ours():
        checked.keep(profile, "1.0", [], [])
        os.unlink(profile.command[0])
        assert not checked.claim_note(profile)
