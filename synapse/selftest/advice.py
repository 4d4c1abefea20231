"""Fields of a profile that may help, derived from what a CLI shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from synapse.agents.look import Composer, Look
from synapse.profiles.loader import Profile
from synapse.selftest.homes import PREFIX
from synapse.selftest.model import Sent
from synapse.selftest.trial import Trial
from synapse.terminal.screen import Screen
from synapse.watch.screen.composer import DRAFT, EMPTY, ComposerReader, Seen

RULE = 10  # the same character this often in a row is a rule
DELAYS = (0.3, 0.6, 1.2)  # seconds between a message and Enter
_MOVES = re.compile(r"\d|[\u2800-\u28ff]|…|\.\.\.")  # counts, spinners, and what is still to come
OPTION = re.compile(r"^\s*[│┃|]?\s*(?P<mark>[^\w\s│┃|.]{1,2})\s*(?:\d+[.)]|\(?[a-z]\))\s+\S", re.MULTILINE)


def composer(screen: Screen, text: str, empty: Screen) -> dict[str, Any]:
    """Rules by which `text`, which was typed, is read from the screen, and nothing from the screen before:
    none if there are no such rules."""
    rows = screen.text().split("\n")
    at = next((n for n in reversed(range(len(rows))) if text in rows[n]), None)
    if at is None:
        return {}
    before = rows[at][: rows[at].index(text)]
    glyph = before.strip()
    if not glyph:
        return {}
    indent = " " * (len(before) - len(before.lstrip()))
    plain: dict[str, Any] = {"first": rf"{indent}{re.escape(glyph)}(?:\s|$)"}
    above, below = _rule(rows[at - 1] if at else ""), _rule(rows[at + 1] if at + 1 < len(rows) else "")
    ruled = {**plain, "above": above} | ({} if above == below else {"below": below})
    for rules in ([ruled] if above and below else []) + [plain, {**plain, "hidden_cursor": True}]:
        if _read(rules, screen).text == text and (found := _with_hint(rules, empty)):
            return {"composer": [found]}
    return {}


def _with_hint(rules: dict[str, Any], empty: Screen) -> dict[str, Any]:
    """The rules, with what the empty composer shows where that would be taken for a draft; none if it is
    taken for one all the same: no message would ever be delivered."""
    shown = _read(rules, empty)
    if shown.state == DRAFT and shown.text:
        rules = {**rules, "hint": re.escape(shown.text.strip())}
    return rules if _read(rules, empty).state == EMPTY else {}


def _read(rules: dict[str, Any], screen: Screen) -> Seen:
    return ComposerReader(Look(composers=(Composer(**rules),))).read(screen)


def menu(screen: str, profile: Profile) -> dict[str, Any]:
    """The mark before the option that Enter takes, if the screen shows numbered options and the profile does
    not know it. The menus that it knows are kept."""
    found = OPTION.search(screen)
    known = profile.menus or []
    if found is None or any(found["mark"] in str(each["mark"]) for each in known):
        return {}
    return {"menus": [*known, {"mark": found["mark"]}]}


def idle(idle_screen: str, busy_screens: Sequence[str] = ()) -> dict[str, Any]:
    """The last row that the idle screen has and no busy one, and that is not of this trial alone."""
    busy = {row.strip() for screen in busy_screens for row in screen.split("\n")}
    rows = [row.rstrip() for row in idle_screen.rstrip().split("\n")]
    for row in reversed(rows[-6:]):
        words = row.strip()
        steady = words not in busy and not _MOVES.search(words) and PREFIX not in words
        if len(words) > 3 and not _rule(row) and steady:
            pattern = rf"(?m)^{re.escape(row)}(?:\n.*){{0,3}}\s*\Z"
            return {"idle_detection": {"strategy": "pattern", "pattern": pattern, "timeout": 2.0}}
    return {"idle_detection": {"strategy": "timeout", "timeout": 2.0}}


def submit_delay(profile: Profile) -> dict[str, Any]:
    """The next longer pause before Enter: it had to be pressed again."""
    longer = next((delay for delay in DELAYS if delay > profile.submit_delay), profile.submit_delay * 2)
    return {"submit_delay": round(longer, 1)}


def clear_keys(trial: Trial, text: str) -> dict[str, Any]:
    """The other way to clear that empties its composer of `text`, tried."""
    for name in ("strong", "auto"):
        if name != trial.profile.clear_keys:
            if trial.composer["state"] != DRAFT:
                trial.driver.type(text)
                trial.rest(0.5)
            trial.driver.type(_clearing(name, text))
            if trial.until(lambda: trial.composer["state"] == "empty", 1.5):
                return {"clear_keys": name}
    return {}


def interrupt_keys(trial: Trial, running: Sent) -> dict[str, Any]:
    """The keys that do interrupt a running answer, tried; C-c last, as it may quit the CLI."""
    for names, presses in ((["Escape"], ["\x1b"]), (["Escape", "Escape"], ["\x1b"] * 2), (["C-c"], ["\x03"])):
        if "".join(presses).encode() == trial.profile.interrupt_keys:
            continue
        for key in presses:
            trial.driver.type(key)
            trial.rest(0.2)
        if trial.until(lambda: running.cut or running.finished is not None, 2.0):
            trial.until(lambda: trial.ended, 1.0)
            return {"interrupt_keys": names} if running.cut and not trial.ended else {}
    return {}


def _clearing(name: str, text: str) -> str:
    times = len(text) // 20 + text.count("\n") + 6
    return "\x15\x7f" * times + "\x0b\x1b[3~" * times if name == "strong" else "\x15" + "\x7f\x15" * times


def _rule(row: str) -> str:
    """A pattern for the row if it is a rule, such as ────, with or without corners."""
    words = row.strip()
    longest = max((words.count(char), char) for char in words)[1] if words else ""
    if len(words) < RULE or longest.isalnum() or words.count(longest) < len(words) - 4:
        return ""
    lead = re.escape(words[0]) if words[0] != longest else ""
    return f" *{lead}{re.escape(longest)}{{{RULE}}}"
