"""Runs all checks of one CLI against the scripted model: `synapse doctor --drive`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from synapse.agents.offline import find_prepare
from synapse.errors import SynapseError
from synapse.launch import program
from synapse.profiles.loader import Profile
from synapse.selftest.checks import CHECKS
from synapse.selftest.results import AS_MEASURED, DIFFERS, LEFT_OUT, NOT_DONE, Differs, Drive, Result, Stuck
from synapse.selftest.sentences import ending
from synapse.selftest.trial import TimeUp, Trial, trial

Tell = Callable[[Result], None]


def drive(
    profile: Profile,
    tell: Tell = lambda _: None,
    record: Path | None = None,
    seconds: float | None = None,
    began: float | None = None,
) -> Drive:
    """`tell` gets each result at once; `seconds` is how long all may take since `began`, if not what the
    CLI's folder says.

    Raises SynapseError if the program is not installed, if nobody has said how to run it offline, or if the
    recording cannot be written where it is wanted."""
    prepare = find_prepare(profile.channel, profile.name)
    if prepare is None:
        raise SynapseError(
            f"{profile.name} cannot be checked: how to run it without a network is not known "
            "(its folder has no offline.py). `synapse doctor --drive --all` checks those where it is."
        )
    program.find_command(profile)
    if record is not None:
        _check_place(record)
    began = time.monotonic() if began is None else began
    with trial(profile, prepare, began, seconds) as made:
        results: list[Result] = []
        unsaved = ""
        try:
            for result in _all_checks(made):
                results.append(result)
                tell(result)
        finally:
            if record is not None:
                unsaved = _save(made, record)
    return Drive(profile.name, round(time.monotonic() - began, 1), results, unsaved)


def _all_checks(made: Trial) -> Iterator[Result]:
    stuck = ""  # why no further check can be made
    for name, title, check in CHECKS:
        made.driver.mark(title)
        reason = stuck or made.offline.left_out.get(name, "")
        if reason:
            yield Result(title, LEFT_OUT, reason)
            continue
        result, stuck = _check(made, title, check)
        yield result
        if name == "start" and not stuck:
            made.start_peer()
            if made.offline.needs_login:
                stuck = "it needs a login, which a made-up key cannot replace"


def _check(made: Trial, title: str, check: Callable[[Trial], str]) -> tuple[Result, str]:
    """The result, and why no further check can be made, if so."""
    try:
        return Result(title, AS_MEASURED, check(made)), ""
    except TimeUp:
        over = f"the {made.limit.seconds:.0f} s were over"
        harm = "The CLI or this machine is too slow to tell: run it again, or with a longer --timeout."
        return Result(title, NOT_DONE, f"{over} in the middle of it", harm), over
    except Differs as found:
        result = Result(title, DIFFERS, found.seen, found.harm, found.patch)
        return result, _stuck_after(made, found, title)
    except (SynapseError, OSError) as error:
        if made.until(lambda: made.ended, 1.0):
            return Result(title, DIFFERS, ending(made), "It ends in the middle of its work."), "it has ended"
        harm = "Synapse does not work with it, or the machine is too busy: run it again."
        return Result(title, DIFFERS, str(error), harm), ""


def _stuck_after(made: Trial, found: Differs, title: str) -> str:
    """Why no further check can be made; empty if it can."""
    if isinstance(found, Stuck):
        return "it is not at its prompt"
    try:
        return "" if made.recovered() else f"it did not come back to its prompt after {title!r}"
    except TimeUp:
        return "the time was over"


def _check_place(record: Path) -> None:
    """Said at once, and not after a minute of checks."""
    folder = record.parent
    if record.is_dir():
        raise SynapseError(_not_written(record, "it is a directory"))
    if not folder.is_dir():
        raise SynapseError(_not_written(record, "there is no such directory"))
    if not os.access(record if record.exists() else folder, os.W_OK):
        raise SynapseError(_not_written(record, "it is not writable"))


def _save(made: Trial, record: Path) -> str:
    """Why it could not be saved; the checks count all the same."""
    try:
        made.driver.save(record, f"synapse doctor {made.profile.name} --drive")
    except OSError as error:
        return _not_written(record, error.strerror or str(error))
    return ""


def _not_written(record: Path, why: str) -> str:
    return f"cannot write the recording to {record} ({why}): name another file with --record."
