"""What is in the composer, from the cells of the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.agents.base import Channel, Surroundings
from synapse.keys.line_editor import INSERT, NORMAL
from synapse.profiles.loader import load_profile
from synapse.terminal.cells import char_width, width
from synapse.terminal.screen import Screen, make_screen
from synapse.watch.observer import Observer
from synapse.watch.screen.composer import ABSENT, DIALOG, DRAFT, EMPTY, UNKNOWN, ComposerReader, Seen, joined
from synapse.watch.screen.looks import look_of
from tests.support.home import Home

RULE = "\x1b[38;5;244m" + "─" * 60 + "\x1b[m"
GREY = "\x1b[38;2;153;153;153m"


def claude(text: str, cursor: tuple[int, int] = (2, 1), below: str = "  ? for shortcuts") -> Screen:
    """Claude's composer at the top of the screen; the cursor is (column, row)."""
    return screen(f"{RULE}\r\n❯\xa0{text}\r\n{RULE}\r\n{below}\x1b[?25l", cursor)


CODEX_FOOTER = "  \x1b[38;5;223mgpt-5\x1b[m · ~/work\r\n  ? for shortcuts"


def codex(
    text: str, cursor: tuple[int, int] = (2, 1), ground: str = "48;5;236", below: str = CODEX_FOOTER
) -> Screen:
    """Codex' composer, on a background of its own if the terminal has told its colours."""
    rows = ["", f"\x1b[0;1;{ground}m›\x1b[0;{ground}m {text}", ""]
    painted = "\r\n".join(f"\x1b[0;{ground}m{row}\x1b[K" for row in "\n".join(rows).split("\n"))
    return screen(f"{painted}\x1b[m\r\n{below}", cursor)


def gemini(text: str, cursor: tuple[int, int]) -> Screen:
    ground = "\x1b[0;48;5;236m"
    rows = [f"{ground} \x1b[38;5;183m> {ground}{text}{ground}\x1b[K", "\x1b[m" + "▀" * 60]
    return screen("▄" * 60 + "\r\n" + "\r\n".join(rows) + "\r\n ~/work\x1b[?25l", cursor)


def copilot(*rows: str, mode: str = "Interactive") -> Screen:
    """Copilot's composer in a terminal with all colours; the cursor is behind its text."""
    typed = "\r\n".join(f"┃ {row}" for row in rows)
    footer = f" ← open sidebar · {mode} · Manual Approval"
    return screen(f"╻{'▄' * 59}\r\n{typed}\r\n╹{'▀' * 59}\r\n{footer}", (2 + len(rows[-1]), len(rows)))


def screen(text: str, cursor: tuple[int, int], cols: int = 60) -> Screen:
    made = make_screen(cols, 24)
    made.feed(f"{text}\x1b[{cursor[1] + 1};{cursor[0] + 1}H".encode())
    return made


def seen(cli: str, *screens: Screen) -> Seen:
    """The last of them as the reader of this CLI sees it; it has seen the others before."""
    reader = ComposerReader(look_of(load_profile(cli)))
    return [reader.read(shown) for shown in screens][-1]


@pytest.mark.parametrize(
    ("cli", "shown"),
    [
        ("claude", claude("\x1b[7m \x1b[m")),
        ("claude", claude("\x1b[7mT\x1b[0;2mry “fix lint errors”\x1b[m")),
        ("claude", claude(f"\x1b[7mr\x1b[0m{GREY}un the tests\x1b[m")),
        ("codex", codex("\x1b[2mAsk Codex to do anything")),
        ("codex", codex("\x1b[2mAsk Codex to do anything", ground="49")),
        ("gemini", gemini("\x1b[7m \x1b[0;38;5;248;48;5;236m Type your message or @path/to/file", (3, 1))),
        ("gemini", gemini("\x1b[7m \x1b[0;38;2;98;114;164m Type your message or @path/to/file", (3, 1))),
        ("dummy", claude("", below="  esc to interrupt")),
        ("copilot", copilot("")),
    ],
)
def test_a_placeholder_or_a_suggestion_is_not_text(cli: str, shown: Screen) -> None:
    assert seen(cli, shown).state == EMPTY


@pytest.mark.parametrize(
    ("cli", "shown", "text"),
    [
        ("copilot", copilot("half a line"), "half a line"),
        ("copilot", copilot("one", "two"), "one\ntwo"),
        ("copilot", copilot("five " * 10 + "seven", "eight"), "five " * 10 + "seven eight"),
        ("copilot", copilot("ls -l", mode="Shell"), "!ls -l"),
        ("copilot", copilot("", mode="Shell"), "!"),
        ("claude", claude("hello\x1b[7m \x1b[m", (7, 1)), "hello"),
        ("claude", claude("\x1b[7mh\x1b[mello", (2, 1)), "hello"),
        ("claude", claude("\x1b[7mx\x1b[m", (2, 1)), "x"),
        ("claude", claude("/mod\x1b[7m \x1b[m\x1b[2mel\x1b[m", (6, 1), "  /model   Set the model"), "/mod"),
        ("claude", claude("\x1b[38;5;153m/model\x1b[m", (8, 1)), "/model"),
        ("claude", claude("one\r\n  two\r\n\r\n  four", (6, 4)), "one\ntwo\n\nfour"),
        ("claude", claude("one\r\n    indented", (12, 2)), "one\n  indented"),
        ("claude", claude("hi  ", (6, 1)), "hi  "),
        ("claude", claude("日本語 👍 é", (11, 1)), "日本語 👍 é"),
        ("claude", screen(f"{RULE}\r\n!\xa0ls\r\n{RULE}\r\n", (4, 1)), "!ls"),
        ("claude", screen(f"{RULE}\r\n!\xa0\r\n{RULE}\r\n", (2, 1)), "!"),
        ("codex", codex("hello", (7, 1)), "hello"),
        ("codex", codex("hello", (7, 1), ground="49"), "hello"),
        ("codex", codex("one\n  two", (5, 2)), "one\ntwo"),
        ("codex", codex("1. a list", (11, 1)), "1. a list"),
        ("gemini", gemini("\x1b[97mhello\x1b[7m \x1b[m", (8, 1)), "hello"),
        ("dummy", claude("hello", (7, 1)), "hello"),
        (
            "qwen",
            screen(f"{RULE}\r\n> half a li\x1b[48;5;252m \x1b[49m\u200b\r\n{RULE}\r\n  footer", (11, 1)),
            "half a li",
        ),
    ],
)
def test_typed_text_is_a_draft(cli: str, shown: Screen, text: str) -> None:
    assert seen(cli, shown) == Seen(DRAFT, text, "its composer has a draft")


@pytest.mark.parametrize(
    "shown",
    [
        claude("[Pasted text #1 +61 lines]", (28, 1)),
        claude("hi 👨\u200d👩\u200d👧", (12, 1)),
        claude("🇯🇵", (4, 1)),
        claude("x" * 56 + "\r\n  xxx", (5, 2)),  # one long word, or two words
        claude("see the end of this well-known sentence with a word-by-\r\n  word list", (11, 2)),
        claude(
            "a sentence that fills its row up to the end of it\r\n  " + "w" * 20 + "\r\n  line two", (10, 3)
        ),
    ],
)
def test_a_draft_that_may_not_be_all_on_the_screen_has_no_text(shown: Screen) -> None:
    found = seen("claude", shown)
    assert (found.state, found.text) == (DRAFT, None)


def test_ten_rows_of_gemini_may_be_the_middle_of_more() -> None:
    rows = "\r\n".join(f"\x1b[48;5;236m   line {number}\x1b[K" for number in range(1, 10))
    found = seen("gemini", gemini(f"line 0\r\n{rows}", (9, 10)))
    assert (found.state, found.text) == (DRAFT, None)


def test_half_of_the_alternate_screen_may_be_the_end_of_a_longer_draft() -> None:
    rows = "\r\n".join(f"  l{number}" for number in range(6, 12))
    shown = screen(f"\x1b[?1049h\x1b[H{RULE}\r\n❯\xa0l5\r\n{rows}\r\n{RULE}\r\n", (5, 7))
    assert (seen("claude", shown).state, seen("claude", shown).text) == (DRAFT, None)


def test_the_cursor_elsewhere_is_a_search_or_a_list() -> None:
    search = claude("", (18, 3), "  search prompts: ")
    assert seen("claude", claude(""), search).state == DIALOG
    recalled = codex("hello", (20, 4))
    assert seen("codex", codex("hello", (7, 1)), recalled).state == DIALOG


@pytest.mark.parametrize("other", ["~\r\n~\r\n~\r\n-- INSERT --", "", f"{RULE}\r\n  Rewind\r\n  ❯ (current)"])
def test_without_a_composer_another_program_or_a_menu_has_the_screen(other: str) -> None:
    assert seen("claude", claude(""), screen(other, (0, 0))).state == ABSENT


AGENTS = "0 awaiting input · 2 working · 0 completed\r\n\r\nWorking\r\n✻ a task\r\n"


@pytest.mark.parametrize(
    ("above", "text", "below"),
    [
        (AGENTS, "", ""),
        (f" ▐▛█▛█  Claude Code\r\n ▝▝ ▝▝  {AGENTS}", "/", ""),
        ("✻ a task\r\n", "\x1b[2mdescribe a task for a new session", ""),
        ("✻ a task\r\n", "mine", "  enter to create · esc×2 to clear"),
        ("✻ a task\r\n", "", "  enter to return · space to reply · ? for shortcuts"),
        ("✻ a task\r\n", "", "  ctrl+r to rename   esc to quit\r\n  ctrl+f to find    ? to close"),
    ],
)
def test_a_page_that_begins_other_conversations_is_not_the_composer(
    above: str, text: str, below: str
) -> None:
    row = above.count("\n") + 1
    page = screen(f"{above}{RULE}\r\n❯\xa0{text}\x1b[m\r\n{RULE}\r\n{below}", (2, row))
    assert seen("claude", claude(""), page).state == ABSENT


def test_a_reply_about_that_page_is_not_the_page() -> None:
    reply = "\r\n".join(["● one", "two", "three", "four", "0 awaiting input · 2 working", "enter to create"])
    shown = screen(f"{reply}\r\n{RULE}\r\n❯\xa0\r\n{RULE}\r\n  ? for shortcuts", (2, 7))
    assert seen("claude", shown).state == EMPTY


@pytest.mark.parametrize("text", ["\x1b[2mType a name and press Enter", "some text"])
def test_a_field_of_a_dialog_is_not_the_composer(text: str) -> None:
    field = screen(
        f"  Name thread\r\n\r\n\x1b[1m›\x1b[m {text}\x1b[m\r\n\r\n  enter submit · esc back", (2, 2)
    )
    assert seen("codex", codex(""), field).state == ABSENT


def test_until_it_has_been_seen_once_it_is_unknown() -> None:
    assert seen("claude", screen("Welcome", (0, 1))).state == UNKNOWN


def test_the_echo_of_a_prompt_is_not_the_composer() -> None:
    echoed = screen(
        "› hello\r\n\r\n• hi\r\n\r\n\x1b[1m›\x1b[m \x1b[2mAsk Codex\x1b[m\r\n\r\n  gpt-5 · ~", (2, 4)
    )
    assert seen("codex", echoed).state == EMPTY


# The drafts of a small composer that wraps words, as most do.


def wrapped(text: str, room: int) -> list[str]:
    rows = []
    for line in text.split("\n"):
        row = ""
        for word in line.split(" "):
            if row and width(row) + 1 + width(word) > room:
                rows.append(row)
                row = word
            else:
                row = f"{row} {word}" if row else word
            while width(row) > room:
                part = ""
                while width(part) + char_width(row[len(part)]) <= room:
                    part += row[len(part)]
                rows.append(part)
                row = row[len(part) :]
        rows.append(row)
    return rows


rooms = st.integers(16, 40)
words = st.text("abcdefghij", min_size=1, max_size=12)
japanese = st.text("日本語のテキスト", min_size=1, max_size=60)


@given(rooms, st.lists(words, min_size=1, max_size=30).map(" ".join))
def test_wrapped_words_are_read_back(room: int, text: str) -> None:
    """In a narrow composer a full row may end in a part of a word: then the text is not known."""
    rows = wrapped(text, room)
    found = joined(rows, room, len(rows) - 1)
    assert found == text or (found is None and room < 24)


@given(rooms, japanese)
def test_wrapped_japanese_is_read_back(room: int, text: str) -> None:
    rows = wrapped(text, room)
    assert joined(rows, room, len(rows) - 1) == text


@given(rooms, st.lists(st.lists(words, max_size=2).map(" ".join), min_size=2, max_size=6))
def test_short_lines_are_read_back(room: int, lines: list[str]) -> None:
    text = "\n".join(line[: room // 2 - 2].rstrip() for line in lines) + "."
    rows = wrapped(text, room)
    assert joined(rows, room, len(rows) - 1) == text


@given(rooms, st.lists(st.lists(words, max_size=12).map(" ".join), min_size=3, max_size=6))
def test_lines_and_wrapped_rows_are_never_mixed_up(room: int, lines: list[str]) -> None:
    rows = wrapped("\n".join(["a", *lines, "b"]), room)  # the first break is surely one
    assert joined(rows, room, len(rows) - 1) in ("\n".join(["a", *lines, "b"]), None)


@given(rooms, st.text("ab日本 \n-", max_size=80))
def test_any_text_has_an_answer(room: int, text: str) -> None:
    rows = [row.rstrip() for row in wrapped(text, room)]
    found = joined(rows, room, 0)
    assert found is None or "".join(found.split()) == "".join(text.split())


def test_a_program_that_looks_like_a_known_one_once_is_not_held_to_it(home: Home) -> None:
    """A shell may print a screen of Claude Code, and its prompt is a prompt all the same."""
    home.profile("x", "command: bash\n")
    reader = ComposerReader(look_of(load_profile("x")), own=False)
    assert reader.read(claude("hello", (7, 1))).text == "hello"
    assert reader.read(screen("$ ", (2, 0))).state == UNKNOWN


def test_another_program_in_the_foreground_is_not_its_composer() -> None:
    shown = claude("hello", (7, 1))
    channel = Channel(Surroundings("/", {}, 0.0))
    observer = Observer(load_profile("claude"), shown, channel, lambda _: None, foreground=lambda: False)
    observer.output(0.0)
    observer.check(1.0)
    assert observer.composer.state == ABSENT


@pytest.mark.parametrize(
    ("cli", "shown", "mode"),
    [
        ("claude", claude("fix", below="  -- INSERT -- ? for shortcuts"), INSERT),
        ("claude", claude("fix", below="  -- INSERT -- ⏸ manual mode on\r\n  1 shell"), INSERT),
        ("claude", claude("fix", below="  ? for shortcuts"), ""),
        ("codex", codex("fix", below="  gpt-5.1-codex · ~/work          Vim: Insert"), INSERT),
        ("codex", codex("fix", below="  gpt-5.1-codex · ~/work          Vim: Normal"), NORMAL),
        ("codex", codex("fix", below="  gpt-5 · ~/work\r\n     Vim: Normal · 1 warning"), NORMAL),
        ("codex", codex("fix"), ""),
    ],
)
def test_the_mode_of_vim_keys(cli: str, shown: Screen, mode: str) -> None:
    profile = load_profile(cli)
    reader = ComposerReader(look_of(profile), vim_mode=profile.vim_mode)
    assert reader.read(shown).vim_mode == mode


@pytest.mark.parametrize(
    ("below", "mode"),
    [
        ("  ? for shortcuts · ← for agents           ● high · /effort", NORMAL),
        ("                                           ● high · /effort", NORMAL),
        ("  ⏸ manual mode on", NORMAL),
        ("+ notes.txt\r\n* Plan (agent) – for plans", INSERT),
        ("  Press Ctrl-C again to exit", INSERT),
        ("  ! for shell mode        double tap esc to clear input", INSERT),
    ],
)
def test_after_insert_mode_claude_shows_what_it_shows_without_vim_keys(below: str, mode: str) -> None:
    profile = load_profile("claude")
    reader = ComposerReader(look_of(profile), vim_mode=profile.vim_mode)
    reader.read(claude("fix", below="  -- INSERT --"))
    assert reader.read(claude("fix", below=below)).vim_mode == mode
