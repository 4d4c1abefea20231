"""`synapse doctor --drive`: runs the checks of CLIs, and prints what they found."""

from __future__ import annotations

import time
from pathlib import Path

from synapse.base import paths
from synapse.cli.shared.checks import drivable
from synapse.cli.shared.ending import clean_up_when_ended, end_if_asked
from synapse.cli.shared.output import say
from synapse.cli.shared.page import BOLD, GREEN, RED, YELLOW, Page
from synapse.errors import SynapseError
from synapse.launch import checked, program
from synapse.profiles.loader import USER, USER_OVER_BUILT_IN, Profile
from synapse.selftest.checks import CHECKS
from synapse.selftest.drive import drive
from synapse.selftest.results import AS_MEASURED, DIFFERS, LEFT_OUT, NOT_DONE, Drive, Result
from synapse.selftest.trial import version_of

MARKS = {AS_MEASURED: ("✓", GREEN), DIFFERS: ("✗", RED), LEFT_OUT: ("-", YELLOW), NOT_DONE: ("?", YELLOW)}


def drive_all(seconds: float | None) -> int:
    """Check every installed CLI, one after the other. The exit status is 1 if one differs or was not done."""
    installed, missing = [], []
    for profile in drivable():
        try:
            program.find_command(profile)
            installed.append(profile)
        except SynapseError as error:
            missing.append(str(error))
    if not installed:
        raise SynapseError("no CLI that can be checked is installed: `synapse profiles` says how to get one.")
    status = 0
    for profile in installed:
        status |= drive_one(profile, seconds=seconds)
        say("")
    for sentence in missing:
        say(f"not checked: {sentence}")
    return status


def drive_one(profile: Profile, record: Path | None = None, seconds: float | None = None) -> int:
    clean_up_when_ended()
    page = Page()
    command = program.find_command(profile)[0]
    began = time.monotonic()
    version = version_of(profile, seconds)
    head = f"{profile.name} {version or 'of an unknown version'} ({paths.shortened(command)})"
    say(page.paint(head, BOLD), flush=True)
    found = drive(profile, lambda result: _say_result(page, result), record, seconds, began)
    _say_summary(page, profile, found)
    _keep(page, profile, version, found)
    if found.unsaved:
        raise SynapseError(found.unsaved)
    if record is not None:
        say(f"the recording is in {record}")
    return int(found.differs or not found.is_done)


def _keep(page: Page, profile: Profile, version: str, found: Drive) -> None:
    """What was found counts all the same where it cannot be kept."""
    try:
        checked.keep(profile, version, _titles(found, DIFFERS), _titles(found, LEFT_OUT, NOT_DONE))
    except OSError as error:
        place = paths.shortened(paths.synapse_home())
        sentence = (
            f"the result could not be kept in {place} ({error.strerror or error}), so `synapse doctor` does "
            "not show it later: make that directory writable, or make space there, and run the check again."
        )
        say(page.line(sentence, 2))


def _titles(found: Drive, *states: str) -> list[str]:
    return [result.check for result in found.results if result.state in states]


def _say_result(page: Page, result: Result) -> None:
    mark, colour = MARKS[result.state]
    wide = max(len(title) for _, title, _ in CHECKS)
    line = f"  {mark} {result.check:<{wide}}  {result.state:<{len(AS_MEASURED)}}  {result.seen}"
    say(page.line(line, wide + len(AS_MEASURED) + 8, mark, colour), flush=True)
    end_if_asked()


def _say_summary(page: Page, profile: Profile, found: Drive) -> None:
    count = {state: len(_titles(found, state)) for state in MARKS}
    parts = [f"{number} {state}" for state, number in count.items() if number]
    say(f"  {', '.join(parts)}, in {found.seconds:.0f} s")
    harms = [result for result in found.results if result.harm]
    if harms:
        say(page.paint("what would go wrong", BOLD))
        for result in harms:
            say(page.line(f"  {result.check}: {result.harm}", 4))
    if found.patch:
        _say_patch(page, profile, found)


def _say_patch(page: Page, profile: Profile, found: Drive) -> None:
    import yaml

    own = profile.source in (USER, USER_OVER_BUILT_IN)
    path = profile.path if own else f"{paths.user_profiles_dir()}/{profile.name}.yaml"
    fields = found.patch if own else {"extends": profile.name, **found.patch}
    say(page.paint(f"to try, in {paths.shortened(path)}", BOLD))
    for line in yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=1000).splitlines():
        say(f"  {line}")
