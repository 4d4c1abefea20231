"""Whether a message can be typed into the agent's composer now, by what is in it."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.watch.screen.composer import ABSENT, DIALOG, DRAFT, EMPTY, OTHER_PROGRAM, UNKNOWN
from synapse.watch.screen.errors import DetectedError

KEY_PAUSE = 1.0  # seconds after the last key
SHOWN_PATIENCE = 5.0  # seconds without a key until a draft is moved aside that the screen shows whole

TYPING = "somebody is typing"
HALF_TYPED = "a human has a half-typed line in the agent's prompt"

_KEYS = re.compile(r"\x1b\[[0-?]*[@-~]|\x1bO[A-S]|[\x00-\x20\x7f]")


def has_text(draft: str) -> bool:
    """Whether it is more than blanks and keys, such as arrows, that the kernel has put into the line."""
    return bool(_KEYS.sub("", draft))


@dataclass(frozen=True, slots=True)
class Content:
    """What the composer has. `is_shown`: the screen shows all of `text`, so that it is known for certain."""

    state: str
    text: str | None = None
    is_shown: bool = False
    why: str = ""


def content(controller: AgentTerminal) -> Content:
    """What is in the composer: by the screen, or by the human's keys where the screen does not tell."""
    seen, typed = controller.composer, controller.draft_text if controller.draft else None
    if seen.state in (DIALOG, ABSENT):
        return Content(seen.state, why=seen.why)
    if seen.state == UNKNOWN or not controller.observer.is_composer_current:
        if not controller.draft:
            return Content(EMPTY, "", why="no key since the last Enter")
        return Content(DRAFT if typed else UNKNOWN, typed, why=seen.why)
    if seen.state == EMPTY:
        return Content(EMPTY, "", is_shown=True, why=seen.why)
    if seen.text is None:
        return Content(DRAFT, typed, why=seen.why)
    same = typed is not None and typed.split() == seen.text.split()  # no screen shows all white space
    return Content(DRAFT, typed if same else seen.text, is_shown=True, why=seen.why)


def asking(controller: AgentTerminal, seen: str = "") -> str:
    """That the agent asks something, and what; `seen` is what the screen shows where that is no question."""
    prompt = controller.observer.prompt
    asked = " ".join(prompt.prompt_text.split())[:80] if prompt else seen
    is_menu = controller.observer.menu.is_open
    what = "a menu is open at its terminal" if is_menu else "the agent asks something"
    return f"{what}: {asked}" if asked else what


def absent(controller: AgentTerminal, why: str) -> str:
    """That the composer is not there, and what to do about it."""
    profile = controller.profile
    told = f"another program or page has the terminal: {why}; look at its terminal"
    if not controller.observer.sees_composer or why == OTHER_PROGRAM.why:
        return told
    if profile.channel in ("none", "events"):
        return f"{told}, and if the program has changed, at `composer` in the profile {profile.name}"
    return f"{told}, and if it was updated, check it with `synapse doctor {profile.name} --drive`"


def is_unknown(controller: AgentTerminal) -> bool:
    """Whether it shows something else than its composer, whose look is known, and no turn goes on."""
    observer = controller.observer
    return observer.sees_composer and controller.composer.is_absent and observer.turns.current is None


def is_away(controller: AgentTerminal, typed: str) -> str:
    """Why Enter, after `typed`, would go elsewhere than to the composer; empty if it would not."""
    seen, prompt = controller.composer, controller.observer.prompt
    if seen.state == ABSENT:
        return absent(controller, seen.why)
    if seen.state != DIALOG or prompt is None:
        return ""
    squeezed = "".join(typed.split())  # what was typed may itself look like a question
    rows = ["".join(row.split()) for row in prompt.prompt_text.split("\n")]
    return "" if all(row in squeezed for row in rows) else asking(controller)


def refusal(controller: AgentTerminal) -> DetectedError | None:
    """The error with which the agent has taken a message out of its composer, without a turn."""
    error = controller.observer.error
    gone = content(controller).state != DRAFT
    return error if error is not None and error.fatal and gone else None


@dataclass(eq=False, repr=False)
class Gate:
    """`patience` is for a draft that the screen does not show whole; 0: drafts are never moved."""

    controller: AgentTerminal
    patience: float
    clock: Callable[[], float] = time.monotonic

    def in_the_way(self, holds_draft: bool) -> tuple[str, float | None]:
        """Why nothing can be typed, and the seconds until that may change without an event.

        `holds_draft`: an earlier draft is not back yet, and there is room for one only."""
        found = content(self.controller)
        quiet = self.clock() - self.controller.last_key
        if found.state == DIALOG:
            return asking(self.controller, found.why), None
        if found.state == ABSENT:
            return absent(self.controller, found.why), None
        if found.state == UNKNOWN:
            why = f"keys were typed since the last Enter, and what they did cannot be seen: {found.why}"
            return why, None if self.controller.observer.is_composer_current else KEY_PAUSE
        if found.state == DRAFT:
            return self._draft_in_the_way(found, quiet, holds_draft)
        return (TYPING, KEY_PAUSE - quiet) if quiet < KEY_PAUSE else ("", None)

    def _draft_in_the_way(self, found: Content, quiet: float, holds_draft: bool) -> tuple[str, float | None]:
        if not found.text:
            return f"{HALF_TYPED}, not all of which is known: {found.why}", None
        if not self.patience or holds_draft:
            return HALF_TYPED, None
        patience = min(self.patience, SHOWN_PATIENCE) if found.is_shown else self.patience
        if not has_text(found.text):
            patience = KEY_PAUSE
        return (HALF_TYPED, patience - quiet) if quiet < patience else ("", None)
