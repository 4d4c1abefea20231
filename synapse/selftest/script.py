"""What the scripted model says in the checks of a CLI: a prompt with `#check:NAME` in it picks an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from synapse.selftest.steps import Run, Say, Step, Wait, Write

SHORT = "Exactly this: **bold**, `code`, 日本語 and a second sentence."
LONG = "\n".join(f"line {number:03d} of 200" for number in range(1, 201))
WORDS = [f"word{number:03d}" for number in range(1, 101)]
SILENCE = 1.5  # seconds in the middle of the short answer: longer than any CLI's own
TOUCHED = "synapse-was-here"
COMMAND = f"touch {TOUCHED} && echo touched"
WRITTEN = "touched\n"
PERMITTED = "The permission was used."
TAKEN = "Taken."

_NAME = re.compile(r"#check:([a-z]+)")


def script(prompt: str, results: Sequence[str] = ()) -> list[Step]:
    """What the model does next with a prompt whose tool calls so far came back with `results`."""
    named = _NAME.findall(prompt)
    name = named[-1] if named else ""
    if name == "short":
        half = SHORT.index("日")
        return [Wait(0.3), Say(SHORT[:half]), Wait(SILENCE), Say(SHORT[half:])]
    if name == "long":
        return [Say(LONG)]
    if name == "slow":
        return [step for word in WORDS for step in (Say(f"{word} "), Wait(0.2))]
    if name in ("run", "write"):
        if results:
            return [Say(PERMITTED)]
        return [Say("I need a permission."), Run(COMMAND) if name == "run" else Write(TOUCHED, WRITTEN)]
    return [Say(TAKEN)]
