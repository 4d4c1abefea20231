"""Whether a human has denied a tool: told by the CLI's record, shown by its screen, or deduced."""

from __future__ import annotations

import pytest

from synapse.agents.base import SCREEN, TRANSCRIPT
from synapse.profiles.loader import load_profile
from synapse.watch import denials
from synapse.watch.screen.errors import ErrorDetector
from synapse.watch.screen.looks import look_of
from synapse.watch.turns import Turn


def asked(**more: object) -> Turn:
    turn = Turn(1, 0.0, asked="rm x")
    for name, value in more.items():
        setattr(turn, name, value)
    return turn


def test_what_the_record_says_counts_most() -> None:
    turn = asked()
    denials.deduce(turn, asks=True, since_asked=0.0)
    denials.told(turn, False)
    denials.shown(turn, True)
    assert (turn.denied, turn.denied_by) == (None, TRANSCRIPT)
    turn = asked()
    denials.told(turn, True)
    assert (turn.denied, turn.denied_by) == ("rm x", TRANSCRIPT)
    turn = asked(denied="rm -rf y", denied_by=TRANSCRIPT)
    denials.told(turn, True)
    assert turn.denied == "rm -rf y"


@pytest.mark.parametrize(("says", "denied"), [(True, "rm x"), (False, None)])
def test_the_screen_corrects_a_deduction(says: bool, denied: str | None) -> None:
    turn = asked()
    denials.deduce(turn, asks=False, since_asked=1.0)
    assert (turn.denied, turn.denied_by) == ("rm x", denials.DEDUCED)
    denials.shown(turn, None)
    assert turn.denied_by == denials.DEDUCED
    denials.shown(turn, says)
    assert (turn.denied, turn.denied_by) == (denied, SCREEN)


def test_the_screen_does_not_overrule_an_answer() -> None:
    turn = asked(denied="rm x", denied_by=denials.ANSWER)
    denials.shown(turn, False)
    assert (turn.denied, turn.denied_by) == ("rm x", denials.ANSWER)


def test_nothing_is_deduced_long_after_the_question_or_when_it_was_permitted() -> None:
    for turn, since in ((asked(), 5.0), (asked(permitted=True), 0.1), (Turn(1, 0.0), 0.1)):
        denials.deduce(turn, asks=False, since_asked=since)
        assert turn.denied is None


CODEX = """\
› hello
✗ You canceled the request to run old

› again

• I will touch a file.

{}

• Exited (status 1) touch a
  └ (no output)

■ Conversation interrupted - use /feedback if something went wrong

› Ask Codex to do anything

  gpt-5.1-codex default · ~/work
"""


@pytest.mark.parametrize(
    ("line", "denied"),
    [
        ("✗ You canceled the request to run touch a", True),
        ("✔ You approved codex to run touch a this time", False),
        ("", None),
    ],
)
def test_codex_says_on_its_screen_what_the_human_did(line: str, denied: bool | None) -> None:
    rows = CODEX.format(line).split("\n")
    detector = ErrorDetector(look_of(load_profile("codex")), lambda _: None)
    cursor = (2, next(at for at, row in enumerate(rows) if row.startswith("› Ask")))
    assert detector.detect_denial(rows, cursor, True) is denied


AIDER = """\
────────────────────────────────────────────────────────────
diff> hello

I will touch a file.

Tokens: 2.3k sent, 20 received.

touch here && echo touched
Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: {}
────────────────────────────────────────────────────────────
diff>
"""


@pytest.mark.parametrize(
    ("answer", "denied"),
    [("n", True), ("No", True), ("d", True), ("y", False), ("", False), ("nonsense", None)],
)
def test_the_answer_that_aider_shows(answer: str, denied: bool | None) -> None:
    detector = ErrorDetector(look_of(load_profile("aider")))
    rows = AIDER.format(answer).splitlines()
    assert detector.detect_denial(rows, (6, len(rows) - 1), True) is denied
    more = "Add command output to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: n"
    assert detector.detect_denial([*rows[:-2], more, *rows[-2:]], (6, len(rows)), True) is denied
