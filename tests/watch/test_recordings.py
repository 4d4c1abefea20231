"""Golden cases: what Synapse makes of each recording of a real CLI. A new CLI version is a new folder.

`timeline.json` holds [time, status] pairs, looked over by hand. After a change that is meant to move them:
`SYNAPSE_GOLDEN=write pytest tests/watch/test_recordings.py`, and read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.truth import composer
from tests.support.replaying import cases, looks, replay, replay_cast

TOLERANCE = 0.06  # seconds
every_case = pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.parent.name}-{case.name}")


@every_case
def test_the_status_timeline(case: Path) -> None:
    found = replay(case, True).timeline
    path = case / "timeline.json"
    if os.environ.get("SYNAPSE_GOLDEN") == "write":
        path.write_text("[\n" + ",\n".join(json.dumps(list(pair)) for pair in found) + "\n]\n")
    expected = [tuple(pair) for pair in json.loads(path.read_text())]
    assert [status for _, status in found] == [status for _, status in expected]
    for (at, _), (wanted, _) in zip(found, expected, strict=True):
        assert abs(at - wanted) <= TOLERANCE, (found, expected)


@every_case
def test_from_the_screen_alone_there_is_no_false_question(case: Path) -> None:
    wanted = json.loads((case / "prompts.json").read_text())
    spans = [(prompt["from"], prompt["until"] or 1e9) for prompt in wanted]
    for at, text in replay(case, False).prompts:
        assert any(start - 0.5 <= at <= end + 0.5 for start, end in spans), (at, text)


@pytest.mark.parametrize("channels", [True, False], ids=["signals", "screen"])
@every_case
def test_how_each_turn_has_ended(case: Path, channels: bool) -> None:
    """Claude writes its errors behind the mark of its replies: only its hook can tell."""
    stopped = case.name in ("interrupt", "interrupt-esc", "permission-deny")
    first = "interrupted" if stopped else "completed"
    if case.name == "error400" and case.parent.name != "claude":
        first = "failed"
    outcomes = [turn["outcome"] for turn in replay(case, channels).turns]
    assert outcomes[:1] in ([], [first]) and set(outcomes[1:]) <= {"completed"}
    if case.name == "error400":
        (turn,) = replay(case, channels).turns
        assert turn["error"]["code"] == "API_ERROR" and "fake error" in turn["error"]["message"]


@every_case
def test_the_composer_is_never_seen_wrong(case: Path) -> None:
    """Against the keys of the recording. With a reason it may be unknown, but it is not in any of them."""
    counts = composer(case, replay(case, True))
    assert (counts["composer"], 0) == (counts["seen"], counts["unknown"])


@pytest.mark.parametrize("cast", looks(), ids=lambda cast: f"{cast.parent.name}-{cast.name[:-8]}")
def test_composers_of_each_width_and_version(cast: Path) -> None:
    """Drafts, completions, shell mode, searches, lists, editors: [mark, state, text], looked over by hand."""
    wanted = json.loads(cast.with_name(cast.name.replace(".cast.gz", ".json")).read_text())
    found = replay_cast(cast, cast.parent.name).marks
    assert [[mark, seen.state, seen.text] for mark, seen in found] == wanted
