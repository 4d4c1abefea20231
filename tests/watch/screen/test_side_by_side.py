"""Dialogs and composers behind a bar, as opencode draws them."""

from __future__ import annotations

import pytest

from synapse.agents.base import Channel, Surroundings
from synapse.delivery.answers import answer_keys, denies
from synapse.profiles.loader import load_profile
from synapse.terminal.screen import Screen, make_screen
from synapse.watch.screen.composer import DIALOG, DRAFT, EMPTY, ComposerReader, Seen
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.menus import InputPrompt
from synapse.watch.screen.reader import ScreenReader

MARKED = "\x1b[48;5;215m{}\x1b[48;5;234m"
HINTS = "ctrl+f fullscreen  ⇆ select  enter confirm"


def shown(rows: list[str], cursor: tuple[int, int] | None = None, cols: int = 100) -> Screen:
    screen = make_screen(cols, 24)
    place = "\x1b[?25l" if cursor is None else f"\x1b[{cursor[1] + 1};{cursor[0] + 1}H"
    screen.feed(("\r\n".join(rows) + place).encode())
    return screen


def dialog(*options: str, marked: int = 0, wide: bool = True) -> list[str]:
    """A permission prompt under a message of the human, which is behind a bar too."""
    texts = [MARKED.format(f" {o} ") if n == marked else f" {o} " for n, o in enumerate(options)]
    line = "\x1b[48;5;234m  " + " ".join(texts)
    last = [f"{line}      {HINTS}\x1b[m"] if wide else [f"{line}\x1b[m", "", f"  {HINTS[:34]}"]
    texts = ["", "  △ Permission required", "    # Shell command", "", "  $ touch a && echo b", "", *last, ""]
    return ["  ┃", "  ┃  hello", "  ┃", "", "     I will.", "", *(f"  ┃{text}" for text in texts)]


def asked(rows: list[str], cols: int = 100) -> InputPrompt | None:
    profile, none = load_profile("opencode"), Channel(Surroundings("/", {}, 0.0))
    return ScreenReader(profile, shown(rows, cols=cols), none).question()


ALLOW = ("Allow once", "Allow always", "Reject")


@pytest.mark.parametrize("wide", [True, False])
def test_a_permission_prompt(wide: bool) -> None:
    prompt = asked(dialog(*ALLOW, wide=wide), 100 if wide else 46)
    assert prompt is not None and prompt.permission and prompt.options == list(ALLOW)
    assert (prompt.question, prompt.subject) == ("Permission required", "touch a && echo b")
    assert prompt.keys == {"Allow once": "Enter", "Allow always": "Right Enter", "Reject": "Escape"}
    assert denies(prompt, "3") and denies(prompt, "Reject") and not denies(prompt, "1")


def test_the_keys_begin_at_the_marked_option() -> None:
    prompt = asked(dialog(*ALLOW, marked=1))
    assert prompt is not None and prompt.default == "Allow always" and prompt.keys is not None
    assert (prompt.keys["Allow once"], prompt.keys["Allow always"]) == ("Left Enter", "Enter")
    assert answer_keys(prompt, "1", b"\r", 0.3) == [(0.0, b"\x1b[D"), (0.3, b"\r")]


SIDEBAR = 158  # its first column on a screen of 200 columns
BESIDE = [  # opencode 1.18.33 at 200x15, each row with what the sidebar has beside it
    ("", ""),
    ("     $ touch synapse-was-here && echo touched", "Scripted title"),
    ("", ""),
    ("     ▣  Build · model", "Context"),
    ("", "138 tokens"),
    ("  ┃", "0% used"),
    ("  ┃  △ Permission required", "$0.00 spent"),
    ("  ┃    # Shell command", ""),
    ("  ┃", "LSP"),
    ("  ┃  $ touch synapse-was-here && echo touched", "LSPs are disabled"),
    ("  ┃", ""),
    ("  ┃", "~/work"),
    (f"  ┃   Allow once   Allow always   Reject{HINTS:>113}", ""),
    ("  ┃", "• OpenCode 1.18.33"),
]


def painted(row: str, right: int) -> str:
    """A row with the backgrounds that opencode gives it: of the page, and up to `right` of the dialog."""
    row = f"\x1b[48;5;232m{row:<{right}}"
    row = row.replace("  ┃", "  \x1b[48;5;233m┃\x1b[48;5;234m", 1).replace(" Allow once ", MARKED)
    return f"{row.format(' Allow once ')}\x1b[48;5;232m"


def with_sidebar(row: str, beside: str) -> str:
    return f"{painted(row, SIDEBAR - 2)}  \x1b[48;5;233m{f'  {beside}':<42}\x1b[m"


def test_what_a_sidebar_has_beside_a_dialog_is_no_part_of_it() -> None:
    prompt = asked([with_sidebar(*row) for row in BESIDE], 200)
    assert prompt is not None and prompt.permission and prompt.options == list(ALLOW)
    assert (prompt.question, prompt.subject) == (
        "Permission required",
        "touch synapse-was-here && echo touched",
    )
    assert prompt.detail == "# Shell command\n\n$ touch synapse-was-here && echo touched"
    assert prompt.default == "Allow once" and prompt.keys == asked(dialog(*ALLOW)).keys  # type: ignore[union-attr]


def narrow(columns: int, *rows: str) -> list[str]:
    """As opencode draws a dialog there: its options go on over its margin, up to the edge of the screen."""
    return [
        f"{painted(row, columns - 2)}{' ' * (columns - max(len(row), columns - 2))}\x1b[m" for row in rows
    ]


@pytest.mark.parametrize(
    ("columns", "options", "hints"),
    [
        (38, "  ┃   Allow once   Allow always   Reje", "  ┃  ctrl+f fullscreen  ⇆ select  ente"),
        (36, "  ┃   Allow once   Allow always   Re", "  ┃  ctrl+f fullscreen  ⇆ select  en"),
        (34, "  ┃   Allow once   Allow always", "  ┃  ctrl+f fullscreen  ⇆ select"),
    ],
)
def test_options_that_a_narrow_screen_cuts(columns: int, options: str, hints: str) -> None:
    texts = ["  ┃", "  ┃  △ Permission required", "  ┃    # Shell command", "  ┃", "  ┃  $ touch a", "  ┃"]
    prompt = asked(narrow(columns, *texts, "  ┃", options, "  ┃", hints, "  ┃"), columns)
    assert prompt is not None and prompt.options == list(ALLOW) and not prompt.unseen
    assert prompt.keys == {"Allow once": "Enter", "Allow always": "Right Enter", "Reject": "Escape"}


def test_options_that_are_cut_and_not_known() -> None:
    texts = ["  ┃", "  ┃  △ Permission required", "  ┃    # Shell command", "  ┃", "  ┃  $ touch a", "  ┃"]
    options, hints = "  ┃   Run it here   Run it the", "  ┃  ⇆ select  enter confirm"
    prompt = asked(narrow(30, *texts, options, "  ┃", hints, "  ┃"), 30)
    assert prompt is not None and prompt.options == ["Run it here", "Run it the"]
    assert prompt.unseen.startswith("the screen does not show all of its answers")


def test_a_title_that_a_narrow_screen_wraps() -> None:
    texts = ["  ┃", "  ┃  △ Permission", "  ┃    required", "  ┃    # Shell command", "  ┃"]
    last = ["  ┃   Allow once   Allow alw", "  ┃", "  ┃  ctrl+f fullscreen  ⇆ se", "  ┃"]
    prompt = asked(narrow(28, *texts, "  ┃  $ touch synapse-", "  ┃  was-here", "  ┃", "  ┃", *last), 28)
    assert prompt is not None and prompt.permission and prompt.question == "Permission required"
    assert prompt.options == list(ALLOW) and prompt.subject == "touch synapse- … (2 lines)"


def test_text_behind_a_bar_is_no_question() -> None:
    assert asked(["  ┃", "  ┃  one   two   three", "  ┃"]) is None
    assert asked(["  ┃", "  ┃"]) is None and asked(["one   two      enter confirm"]) is None


def composer(*lines: str, cursor: tuple[int, int], last: str = "Build · model", above: str = "") -> Seen:
    rows = [
        above,
        "  ┃",
        *(f"  ┃  {line}" for line in lines),
        "  ┃",
        f"  ┃  {last}",
        "  ╹" + "▀" * 55,
        "   ~/work",
    ]
    screen = shown(["  ┃", "  ┃  hello", "  ┃", *rows], cursor, cols=60)
    return ComposerReader(look_of(load_profile("opencode"))).read(screen)


def test_an_empty_composer() -> None:
    assert composer("", cursor=(5, 5)).state == EMPTY
    assert composer('\x1b[90mAsk anything… "Fix broken tests"\x1b[m', cursor=(5, 5)).state == EMPTY


def test_a_draft_with_an_empty_line_in_it() -> None:
    assert composer("one", "", "two", cursor=(8, 7)) == Seen(DRAFT, "one\n\ntwo", "its composer has a draft")


def test_a_draft_that_is_wrapped_at_the_width_of_its_box() -> None:
    words = "a word " * 7 + "and"
    seen = composer(words, "another one", cursor=(16, 6))
    assert seen.text == f"{words} another one"


def test_a_shell_command_is_a_draft_even_before_it_is_typed() -> None:
    assert composer("", cursor=(5, 5), last="Shell").text == "!"


def test_with_a_list_of_completions_above_it_the_draft_is_not_known() -> None:
    seen = composer("/ne", cursor=(8, 5), above="  ┃ /new     New session ┃")
    assert (seen.state, seen.text) == (DRAFT, None)


def test_a_palette_has_the_cursor() -> None:
    reader = ComposerReader(look_of(load_profile("opencode")))
    rows = ["", "      Search", "", "  ┃", "  ┃", "  ┃", "  ┃  Build · model", "  ╹" + "▀" * 55]
    reader.read(shown(rows, (5, 4), 60))
    assert reader.read(shown(rows, (12, 1), 60)).state == DIALOG


LOW = [  # opencode 1.18.33 at 200x15 after a first turn
    ("     ▣  Build · model · 1.4s", "$0.00 spent"),
    ("", ""),
    ("  ┃", "LSP"),
    ("  ┃", "LSPs are disabled"),
    ("  ┃", ""),
    ("  ┃  Build · model scripted", "~/work"),
    ("  ╹" + "▀" * 153, ""),
    ("   /tmp/work", "• OpenCode 1.18.33"),
]


def beside_sidebar(draft: str = "", last: str = "Build · model scripted") -> Seen:
    left = {3: f"  ┃  {draft}", 5: f"  ┃  {last}"}
    rows = [f"{left.get(n, row):<160}{beside}" for n, (row, beside) in enumerate(LOW)]
    return ComposerReader(look_of(load_profile("opencode"))).read(shown(rows, (5 + len(draft), 3), 200))


def test_what_a_sidebar_has_beside_the_composer_is_no_part_of_it() -> None:
    assert beside_sidebar() == Seen(EMPTY, why="its composer is empty")
    assert beside_sidebar("a draft").text == "a draft"
    assert beside_sidebar(last="Shell").text == "!"
