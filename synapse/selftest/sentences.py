"""What is seen of a CLI in a trial, in the words of `synapse doctor --drive`."""

from __future__ import annotations

import re
from typing import Any

from synapse.selftest.trial import Trial
from synapse.watch.screen.errors import classify

_REASON = re.compile(r"(?i)\b(?:\w*error|unknown|unexpected|invalid|cannot|not found|no such|denied)\b")

_ASKS_LOGIN = re.compile(
    r"(?i)\b(?:please|must|need(?:s|ed)?|required?|run|not)\b.*\b(?:log(?:ged)?|sign(?:ed)?)[ -]?in\b"
    r"|\b(?:log|sign)[ -]?in\b.*\b(?:first|required|needed)\b"
)


def unreported(trial: Trial) -> str:
    """What is known of reports that did not arrive."""
    why = trial.why
    return "".join(f"; {sentence}" for sentence in (*why["missing"], *why["notes"]))


def ending(trial: Trial) -> str:
    """How it ended, with its own words for the reason."""
    try:
        status = f"with status {trial.exit_status()}"
    except AssertionError:
        status = "without a status"
    rows = _rows(trial)
    reason = next((row for row in rows if _REASON.search(row)), " ".join(rows[-3:]))
    return f"it ended {status}: {short(reason)}"


def wants_login(trial: Trial) -> str:
    """The line with which a CLI that has ended wants a login, by the rules for its errors; empty if it ended
    for another reason: a list of its commands may have a `login` too."""
    rows = _rows(trial)
    reasons = [row for row in rows if _REASON.search(row)]
    asks = [row for row in rows if _ASKS_LOGIN.search(row) or classify(row) == "LOGIN_REQUIRED"]
    if not asks or any(row not in asks for row in reasons[:1]):
        return ""
    return short(asks[0])


def _rows(trial: Trial) -> list[str]:
    found = trial.driver.screen.contents().split("\n")
    return [row.strip() for row in found if re.search(r"\w", row)]


def where(trial: Trial) -> str:
    """What it shows, or asks, in one line."""
    prompt = trial.why.get("prompt") if trial.status else None
    if prompt:
        return f"it asks {short(str(prompt.get('prompt') or ''))}"
    rows = [row.strip() for row in trial.screen.split("\n") if re.search(r"\w", row)]
    return f"its screen shows {short(' / '.join(rows[-4:]))}"


def state(task: dict[str, Any]) -> str:
    why = (task.get("error") or {}).get("message") or task.get("note") or ""
    return f"the task is {task['state']}{': ' if why else ''}{why}"


def short(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= most else f"{line[: most - 1]}…")
