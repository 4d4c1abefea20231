"""The CLIs that `synapse doctor --drive` can check, and what the last check of each has found."""

from __future__ import annotations

from collections.abc import Iterator

from synapse.agents.offline import find_prepare
from synapse.cli.shared.output import age
from synapse.errors import SynapseError
from synapse.launch import checked, program
from synapse.profiles.loader import Profile, list_profiles


def drivable() -> list[Profile]:
    """The profiles whose CLI can be run without a network."""
    profiles = [listed.profile for listed in list_profiles() if listed.profile is not None]
    return [profile for profile in profiles if is_drivable(profile)]


def is_drivable(profile: Profile) -> bool:
    return find_prepare(profile.channel, profile.name) is not None


def last_checks() -> Iterator[tuple[bool, str]]:
    """For each installed CLI that can be checked: whether it is as measured, and a sentence."""
    for profile in drivable():
        try:
            program.find_command(profile)
        except SynapseError:
            continue
        good, text = last_check(profile)
        yield good, f"{profile.name} {text}"


def last_check(profile: Profile) -> tuple[bool, str]:
    """Whether a CLI is as measured, and the rest of a sentence that begins with its name."""
    how = f"`synapse doctor {profile.name} --drive`"
    check = checked.last(profile.name)
    if not check:
        return False, f"was not checked yet: {how} runs it against a scripted model"
    when = f"{age(check['at'])} ago" + (f" ({check['version']})" if check["version"] else "")
    if checked.has_changed(check, profile):
        return False, f"has changed since its last check {when}: {how} checks it again"
    if check["differs"]:
        return False, f"differed {when}: {', '.join(check['differs'])}; {how} says more"
    left = f", without {', '.join(check['left_out'])}" if check["left_out"] else ""
    return True, f"was as measured {when}{left}"
