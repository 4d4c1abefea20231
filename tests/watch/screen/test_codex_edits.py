"""Codex asks before it edits files: the question names them."""

from __future__ import annotations

from synapse.agents.requests import tool_request
from synapse.profiles.loader import load_profile
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.questions import InputRequiredDetector, explained

SCREEN = """\
• I write a file.

• Added written.txt (+2 -0)
    1 +one
    2 +two

    + Show details


  Would you like to make the following edits?

  Description: Apply proposed file edits
  Destination: /w/written.txt

› 1. Yes, proceed (y)
  2. Yes, and don't ask again for these files (a)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel
"""
PATCH = "*** Begin Patch\n*** Add File: written.txt\n+one\n+two\n*** End Patch"


def test_the_file_is_the_subject_and_the_patch_the_detail() -> None:
    detector = InputRequiredDetector(look=look_of(load_profile("codex")))
    prompt = detector.detect_screen(SCREEN.split("\n"), (0, 0), False)
    assert prompt is not None and prompt.permission and prompt.subject == "/w/written.txt"
    assert prompt.keys is not None and list(prompt.keys.values()) == ["y", "a", "Escape"]
    other, ours = (
        tool_request("exec_command", {"cmd": command})
        for command in ("ls -l", f"apply_patch <<'EOF'\n{PATCH}\nEOF")
    )
    assert other is not None and ours is not None
    told = explained(prompt, [other, ours])
    assert (
        told is not None and told.subject == "apply_patch: add written.txt" and PATCH in (told.detail or "")
    )
