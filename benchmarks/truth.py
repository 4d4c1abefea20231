"""How often status, composer and replies are right, for every recording and, with `--real`, in the real CLIs.

The truth of a recording is what the CLI itself says (title, OSC), or else what it paints last for an answer,
and the prompts that people have marked in it; the truth of a real run is the scripted model's own clock and
text. `python -m benchmarks.truth [--real]`.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

from synapse.profiles.loader import load_profile
from synapse.watch.screen.composer import ABSENT, DIALOG, UNKNOWN
from tests.support.replaying import Replayed, cases, replay, typed

STEP = 0.05
GRACE = 0.5  # seconds around a change in which either answer is right: the title itself lags
COMPOSER_GRACE = 2.0  # the same for the composer: while the output never pauses, two looks must agree
BUSY = {"claude": r"^[⠀-⣿◐◑◒◓]", "gemini": r"^✦", "codex": r"state=working", "copilot": r"^4;3"}
NUMBERS = {"codex": ("7501",), "copilot": ("9",)}  # of the sequences; the others have titles
SILENT_AT_START = ("copilot",)  # it says nothing before its first turn
LINE_BY_LINE = ("aider",)  # while it works it has no composer
# Another CLI says it in a way that is not yet there when it starts: what the scripted model did, as marked.
MARKED = {"ready": "READY", "enter": "PROCESSING", "interrupt": "READY", "answered": "READY"}
OSC = re.compile(r"\x1b\](\d+);([^\x07\x1b]*)(?:\x07|\x1b\\)")


def truth(case: Path, end: float) -> list[tuple[float, str]]:
    """[time, status], from the CLI's own signals and the marked prompts."""
    cli = case.parent.name
    if cli not in BUSY:
        return _marked(case, end)
    wanted = NUMBERS.get(cli, ("0", "2"))
    with gzip.open(case / "session.cast.gz", "rt") as file:
        events = [json.loads(line) for line in file][1:]
    changes = []
    for at, kind, data in events:
        if cli in SILENT_AT_START and (kind, data) == ("m", "ready"):
            changes.append((at, "READY"))
        for number, payload in OSC.findall(data) if kind == "o" else []:
            if number in wanted:
                changes.append((at, "PROCESSING" if re.search(BUSY[cli], payload) else "READY"))
    for prompt in json.loads((case / "prompts.json").read_text()):
        until = prompt["until"] or end
        after = [status for at, status in changes if at <= until][-1:] or ["READY"]
        changes = [(at, status) for at, status in changes if not prompt["from"] <= at < until]
        changes += [(prompt["from"], "INPUT_REQUIRED"), (until, after[0])]
    return sorted(changes)


def _marked(case: Path, end: float) -> list[tuple[float, str]]:
    """For a CLI without such signals: from Enter to what it paints last for the model's answer, which is
    later than that on a busy machine. One that paints on while it is idle: to the model's last word."""
    with gzip.open(case / "session.cast.gz", "rt") as file:
        events = [json.loads(line) for line in file][1:]
    marks = [(at, what) for at, kind, what in events if kind == "m"]
    repaints = load_profile(case.parent.name).idle_detection.repaints
    changes = []
    for index, (at, what) in enumerate(marks):
        if what == "answered" and not repaints:
            until = marks[index + 1][0] if index + 1 < len(marks) else end
            at = max([at, *(time for time, kind, _ in events if kind == "o" and time <= until)])
        if what in MARKED:
            changes.append((at, MARKED[what]))
    for prompt in json.loads((case / "prompts.json").read_text()):
        changes += [(prompt["from"], "INPUT_REQUIRED"), (prompt["until"] or end, "PROCESSING")]
    return sorted(changes)


def _enters(case: Path) -> list[float]:
    with gzip.open(case / "session.cast.gz", "rt") as file:
        return [
            at for at, kind, data in [json.loads(line) for line in file][1:] if (kind, data) == ("i", "\r")
        ]


def status_at(changes: list[tuple[float, str]], moment: float) -> str | None:
    found = None
    for at, status in changes:
        if at <= moment:
            found = status
    return found


def compare(case: Path, result: Replayed) -> dict[str, int]:
    changes = truth(case, result.end)
    if not changes:
        return {}
    enters = _enters(case)
    # A recording that ends within a turn is followed by silence that is not the CLI's.
    busy = status_at(changes, result.last) == "PROCESSING"
    total = right = false_ready = false_input = 0
    moment = changes[0][0]
    while moment < (result.last if busy else result.end):
        true, said = status_at(changes, moment), result.status_at(moment)
        near = any(0 <= moment - at <= GRACE for at, _ in changes)
        if said == "PROCESSING" and any(0 <= moment - at <= GRACE for at in enters):
            near = True  # a turn begins with Enter; the title follows
        total += 1
        right += said == true or near
        false_ready += said == "READY" and true != "READY" and not near
        false_input += said == "INPUT_REQUIRED" and true != "INPUT_REQUIRED" and not near
        moment += STEP
    return {"total": total, "right": right, "false_ready": false_ready, "false_input": false_input}


def composer(case: Path, result: Replayed) -> dict[str, int]:
    """How many moments the composer was seen as it was; a dialog may also be seen as no composer at all."""
    changes = typed(case, result.end)
    working = truth(case, result.end) if case.parent.name in LINE_BY_LINE else []
    counts = {"composer": 0, "seen": 0, "unknown": 0}
    moment = changes[0][0] if changes else result.end
    while moment < result.end:
        _, state, text = next(change for change in reversed(changes) if change[0] <= moment)
        moments = [*(change[0] for change in changes), *(change[0] for change in working)]
        near = any(0 <= moment - at <= COMPOSER_GRACE for at in moments)
        seen = result.composer_at(moment)
        states = (DIALOG, ABSENT) if state == DIALOG else (state,)
        if case.parent.name in LINE_BY_LINE and status_at(working, moment) == "PROCESSING":
            states = (ABSENT,)
        counts["composer"] += 1
        counts["unknown"] += seen.state == UNKNOWN and not near
        counts["seen"] += near or (seen.state in states and (seen.text or text) == text)
        moment += STEP
    return counts


def delays(case: Path, result: Replayed) -> list[float]:
    """Seconds from the true end of each turn to READY. A title that is idle for a moment ends no turn."""
    changes = [*truth(case, result.end), (result.end, "")]
    ends = [
        at
        for (_, before), (at, now), (until, _) in zip(changes, changes[1:], changes[2:], strict=False)
        if (before, now) == ("PROCESSING", "READY") and until - at > GRACE
    ]
    found = []
    for end in ends:
        after = [at for at, status in result.timeline if status == "READY" and at >= end - 0.01]
        if result.status_at(end) == "READY":
            found.append(0.0)
        elif after:
            found.append(after[0] - end)
    return found


def similarity(case: Path, result: Replayed) -> tuple[list[float], int]:
    """How similar the replies of the turns are to the known ones, and how many known ones have no turn.

    A turn's reply is its last message. Where a CLI queues a prompt, one turn has two known replies, and the
    later counts. The recording of an error is skipped: there the known reply is the error."""
    path = case / "replies.json"
    known = json.loads(path.read_text()) if path.exists() and case.name != "error400" else []
    starts = [*(turn["started_at"] for turn in result.turns), result.unfinished or result.end + 1]
    alike = []
    for turn, until in zip(result.turns, starts[1:], strict=True):
        seen = [e["reply"] for e in known if turn["started_at"] < e.get("at", result.end) <= until]
        if seen:
            alike.append(SequenceMatcher(None, turn["reply"].split(), seen[-1].split()).ratio())
    return alike, len(known) - len(alike)


def recordings() -> None:
    columns = ["recordings", "evidence", "cases", "status right", "composer right", "composer unknown"]
    columns += ["false READY", "false INPUT_REQUIRED"]
    print(
        "| "
        + " | ".join([*columns, "end to READY, p50", "reply similarity", "replies without a turn"])
        + " |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for cli in sorted({case.parent.name for case in cases()}):
        for channels in (True, False):
            sums: Counter[str] = Counter()
            waits: list[float] = []
            alike: list[float] = []
            count = missed = 0
            for case in cases():
                if case.parent.name == cli:
                    result = replay(case, channels)
                    sums.update(compare(case, result))
                    sums.update(composer(case, result))
                    waits += delays(case, result)
                    found, without = similarity(case, result)
                    alike += found
                    missed += without
                    count += 1
            total = sums["total"] or 1
            evidence = "title, OSC, screen" if channels else "screen and silence"
            print(
                f"| {cli} | {evidence} | {count} | {sums['right'] / total:.1%} "
                f"| {sums['seen'] / sums['composer']:.1%} | {sums['unknown'] / sums['composer']:.1%} "
                f"| {sums['false_ready'] * STEP:.1f} s | {sums['false_input'] * STEP:.1f} s "
                f"| {statistics.median(waits) if waits else float('nan'):.2f} s "
                f"| {statistics.mean(alike) if alike else float('nan'):.2f} | {missed} |"
            )


def main(argv: list[str]) -> int:
    recordings()
    if "--real" in argv:
        from benchmarks.truth_real import real

        real()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
