"""The last check of each CLI by `synapse doctor --drive`: of which program it was, and what it found.

A file for each profile. The program is known by its path, size and modification time.
"""

from __future__ import annotations

import fcntl
import os
import time

from synapse.base import files, jsontext, paths
from synapse.errors import SynapseError
from synapse.launch import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from synapse.profiles.loader import Profile


def keep(profile: Profile, version: str, differs: Sequence[str], left_out: Sequence[str]) -> None:
    """Remember what a check has found: the names of the checks that differ, and of those not made."""
    check = {
        "profile": profile.name,
        "program": _fingerprint(profile),
        "version": version,
        "at": time.time(),
        "differs": list(differs),
        "left_out": list(left_out),
    }
    _write(profile.name, check)


def last(name: str) -> dict[str, Any]:
    """The last check of a profile's CLI; empty if there was none."""
    found = files.read_object(_path(name))
    return found if isinstance(found.get("at"), float) else {}


def has_changed(check: dict[str, Any], profile: Profile) -> bool:
    """Whether the CLI is not the program that was checked."""
    try:
        return bool(check.get("program") != _fingerprint(profile))
    except (SynapseError, OSError):
        return False  # it is not there


def claim_note(profile: Profile) -> bool:
    """Whether the CLI has changed since its last check and nobody was told so. Only one caller gets True."""
    check = last(profile.name)
    if not check or not has_changed(check, profile):
        return False
    with open(os.path.join(_folder(), ".lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        check, now = last(profile.name), _fingerprint(profile)
        if not check or check.get("told") == now:
            return False
        _write(profile.name, {**check, "told": now})
    return True


def _fingerprint(profile: Profile) -> list[object]:
    path = os.path.realpath(program.find_command(profile)[0])
    status = os.stat(path)
    return [path, status.st_size, status.st_mtime_ns]


def _write(name: str, check: dict[str, object]) -> None:
    _folder()
    files.replace(_path(name), jsontext.dumps(check).encode())


def _folder() -> str:
    return paths.private_dir(os.path.join(paths.synapse_home(), "checks"))


def _path(name: str) -> str:
    return os.path.join(paths.synapse_home(), "checks", f"{name}.json")
