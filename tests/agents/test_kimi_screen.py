"""Kimi Code on the screen: the composer in its box, dialogs between two rules, whether it works."""

from __future__ import annotations

import re

import pytest

from synapse.delivery.answers import answer_keys
from synapse.profiles.loader import load_profile
from synapse.terminal.screen import Screen, make_screen
from synapse.watch.screen.composer import DRAFT, EMPTY, ComposerReader, Seen
from synapse.watch.screen.errors import ErrorDetector
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.menus import InputPrompt
from synapse.watch.screen.questions import InputRequiredDetector

COLS = 60
RULE = " " + "─" * (COLS - 2)
FOOTER = [" kimi-k3 thinking  ~/work", " " * 40 + "context: 1% (17/256k)"]
LOOK = look_of(load_profile("kimi"))
OPTIONS = [
    "   ▶ 1. Approve once",
    "     2. Reject",
    "",
    "   ↑/↓ select · 1/2 choose · ↵ confirm",
    RULE,
    *FOOTER,
]


def box(*rows: str, glyph: str = ">", title: str = "", below: str = "") -> list[str]:
    first, *more = rows or ("",)
    inner = [f" │ {glyph} {first}", *(f" │   {row}" for row in more)]
    edges = (" ╭" + title.center(COLS - 4, "─") + "╮", " ╰" + below.center(COLS - 4, "─") + "╯")
    return [edges[0], *(row.ljust(COLS - 2) + "│" for row in inner), edges[1], *FOOTER]


def screen(rows: list[str], cursor: tuple[int, int]) -> Screen:
    made = make_screen(COLS, 30)
    made.feed(("\r\n".join(rows) + f"\x1b[?25l\x1b[{cursor[1] + 1};{cursor[0] + 1}H").encode())
    return made


def composer(rows: list[str], cursor: tuple[int, int]) -> Seen:
    return ComposerReader(LOOK).read(screen(rows, cursor))


def asked(*rows: str) -> InputPrompt | None:
    shown = screen(list(rows), (COLS - 1, len(rows) - 1))
    return InputRequiredDetector(look=LOOK).detect_screen(shown.text().split("\n"), shown.cursor, False)


@pytest.mark.parametrize(
    ("rows", "cursor", "text"),
    [
        (["half a li"], (14, 1), "half a li"),
        (["two", "lines"], (10, 2), "two\nlines"),
        (["word " * 9 + "word", "and more"], (13, 2), "word " * 9 + "word and more"),
    ],
)
def test_a_draft_in_its_box(rows: list[str], cursor: tuple[int, int], text: str) -> None:
    seen = composer(box(*rows), cursor)
    assert (seen.state, seen.text) == (DRAFT, text)


def test_what_is_in_the_box_besides_a_draft() -> None:
    assert composer(box(), (5, 1)).state == EMPTY
    shell = composer(box("ls", glyph="!", title=" ! shell mode "), (7, 1))
    assert (shell.state, shell.text) == (DRAFT, "!ls")
    for scrolled in (box("l6", "l7", title=" ↑ 5 more "), box("l0", "l1", below=" ↓ 5 more ")):
        seen = composer(scrolled, (7, 2))
        assert (seen.state, seen.text) == (DRAFT, None)
    pasted = composer(box("[paste #1 +50 lines]"), (25, 1))
    assert (pasted.state, pasted.text) == (DRAFT, None)
    completing = [*box("@no")[:3], " │   → notes.txt".ljust(COLS - 2) + "│", *FOOTER]
    assert composer(completing, (8, 1)).text == "@no"


TRUST = [  # Kimi Code 2.1.0 at its first start in a folder
    RULE,
    "  Trust this folder?",
    "  ↑↓ navigate · Enter select · Esc exit",
    "",
    "  /home/me/work",
    "",
    "  Project-level MCP servers are disabled until you",
    "  explicitly choose Trust. Trust starts the listed project",
    "  MCP targets and remembers this folder.",
    "",
    "   ❯ Trust this folder",
    "     Enable project MCP servers. Remembered for this",
    "     folder.",
    "",
    "     Don't trust",
    "     Exit Kimi Code. Asked again next launch.",
    "",
    RULE,
]


def test_whether_to_trust_the_folder() -> None:
    prompt = asked(*TRUST)
    assert prompt is not None and prompt.question == "Trust this folder?"
    assert prompt.keys == {"Trust this folder": "Enter", "Don't trust": "Down Enter"}
    assert (prompt.options, prompt.default) == (list(prompt.keys), "Trust this folder")
    assert prompt.cancel == "Escape" and prompt.detail is not None
    assert prompt.detail.startswith("/home/me/work\n\nProject-level MCP") and prompt.detail.endswith(
        "folder."
    )
    assert "❯" not in prompt.detail and "navigate" not in prompt.detail and "Exit" not in prompt.detail
    assert answer_keys(prompt, "Don't trust", b"\r", 0.3) == [(0.0, b"\x1b[B"), (0.3, b"\r")]


def test_the_pointer_is_at_the_second_option() -> None:
    rows = [row.replace("❯", " ").replace("     Don't", "   ❯ Don't") for row in TRUST]
    prompt = asked(*rows)
    assert prompt is not None and prompt.default == "Don't trust"
    assert prompt.keys == {"Trust this folder": "Up Enter", "Don't trust": "Enter"}


def test_a_permission_question() -> None:
    prompt = asked(
        " ● I will.", RULE, "   ▶ Run this command?", "", "   cwd: /w", "   $ touch x", "", *OPTIONS
    )
    assert prompt is not None and prompt.permission and not prompt.unseen
    assert (prompt.question, prompt.subject) == ("Run this command?", "touch x")
    assert prompt.keys == {"Approve once": "1", "Reject": "2"}
    written = asked(
        " ● I will.", RULE, "   ▶ Write this file?", "", "   /w/a.txt", "      1  one", "", *OPTIONS
    )
    assert written is not None and written.permission and written.subject == "/w/a.txt"


def test_a_command_whose_top_is_not_shown_is_said_to_be_cut() -> None:
    prompt = asked("   · echo 5 > a.txt", "   · done", "", *OPTIONS)
    assert prompt is not None and prompt.permission and prompt.subject is None
    assert "does not show all of what it would run" in prompt.unseen


def test_a_question_of_its_own_and_the_folder_to_trust() -> None:
    choice = ["   → [1] Red", "        as blood", "     [2] Blue", "", "  ↑/↓ select · ↵ choose · esc cancel"]
    prompt = asked(" ● Hm.", RULE, "  question", "", "  ? Which colour?", "", *choice, RULE, *FOOTER)
    assert prompt is not None and not prompt.permission
    assert (prompt.question, prompt.keys) == ("Which colour?", {"Red": "1", "Blue": "2"})
    hints = "  ↑↓ navigate · Enter select · Esc exit"
    trust = asked(
        RULE, "  Trust this folder?", hints, "", "  /w", "", "   ❯ Trust this folder", "     No", RULE
    )
    assert trust is not None and trust.question == "Trust this folder?"


def test_a_question_with_several_answers() -> None:
    boxes = ["   [✓] Red", "         as blood", "   [ ] Blue", "   [ ] Other", ""]
    hints = "   ↑↓ select  1-3 / ↵ toggle  ←/→/tab switch  esc cancel"
    prompt = asked(" ● Hm.", RULE, "  question", "", "  ? Which colours?", "", *boxes, hints, RULE, *FOOTER)
    assert prompt is not None and prompt.question == "Which colours?"
    assert (prompt.options, prompt.chosen) == (["Red", "Blue", "Other"], ["Red"])
    assert answer_keys(prompt, "Blue, Other", b"\r", 0.1) == [
        (0.0, b"1"),
        (0.1, b"2"),
        (0.1, b"3"),
        (0.1, b"\t"),
    ]


def test_a_message_that_waits_is_no_question() -> None:
    rows = [RULE, "   ❯ queued", "   ↑ to edit · ctrl-s to steer immediately", *box()]
    shown = screen(rows, (5, 4))
    assert (
        InputRequiredDetector(look=LOOK).detect_screen(shown.text().split("\n"), shown.cursor, False) is None
    )


@pytest.mark.parametrize(
    ("above", "idle"),
    [
        ([" ● Done.", ""], True),
        ([" ● Done.", "", "  ⠧ Working… · Tip: /tasks"], False),
        ([" ✨ go", "", "  🌑"], False),
        ([" ✨ go", "", "  🌓 Retrying (3/10) · in 2s", "     Connection error."], False),
        (["  ⠧ Working…", RULE, "   ❯ queued", "   ↑ to edit · ctrl-s to steer immediately"], False),
        ([f" line {n}" for n in range(15)], True),
        (["  ⠧ of an old picture", *(f" line {n}" for n in range(13))], True),
    ],
)
def test_whether_it_works(above: list[str], idle: bool) -> None:
    profile = load_profile("kimi")
    pattern = profile.idle_detection.pattern
    assert pattern is not None
    text = "\n".join(above + box())
    assert bool(re.search(pattern, text)) == idle
    working = any(re.search(signal.pattern, text) for signal in profile.signals.screen)
    assert working != idle


def test_a_missing_login_and_what_only_looks_like_it() -> None:
    told = '   Error: LLM not set, send "/login" to login'

    def codes(*rows: str) -> list[str]:
        shown = screen([*rows, *box()], (5, len(rows) + 1))
        found = ErrorDetector(LOOK).detect_screen(shown.text().split("\n"), shown.cursor, False)
        return [error.code for error in found]

    assert codes("   No session yet.", told, "") == ["LOGIN_REQUIRED"]
    assert codes(told, "", " ✨ again", "", " ● Done.", "") == []
