"""The line that follows from the keys; where that cannot be known, it is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.keys.line_editor import INSERT, NORMAL, LineEditor


def edited(text: str, *keys: str, columns: int = 0, mode: str = "") -> LineEditor:
    editor = LineEditor(columns)
    editor.mode = mode
    editor.insert(text)
    for key in keys:
        if len(key) == 1:
            editor.insert(key)
        else:
            editor.key(key)
    return editor


@pytest.mark.parametrize(
    ("text", "keys", "line"),
    [
        ("abc", ["backspace"], "ab"),
        ("abc", ["left", "backspace"], "ac"),
        ("abc", ["left", "left", "delete"], "ac"),
        ("abc", ["ctrl-a", "x"], "xabc"),
        ("abc", ["home", "right", "x"], "axbc"),
        ("abc", ["home", "end", "x"], "abcx"),
        ("abc", ["ctrl-b", "ctrl-b", "ctrl-f", "x"], "abxc"),
        ("abc", ["ctrl-a", "ctrl-d"], "bc"),
        ("abc", ["left", "ctrl-k"], "ab"),
        ("abc", ["left", "ctrl-u"], "c"),
        ("fix this", ["ctrl-w"], "fix "),
        ("fix this  ", ["alt-backspace"], "fix "),
        ("fix this", ["alt-b", "x"], "fix xthis"),
        ("fix this", ["ctrl-left", "alt-d"], "fix "),
        ("fix this", ["alt-b", "alt-f", "x"], "fix thisx"),
        ("日本語", ["backspace"], "日本"),
        ("日本語", ["left", "left", "x"], "日x本語"),
        ("a🎉", ["backspace"], "a"),
        ("one", ["shift-enter", "t"], "one\nt"),
        ("one", ["shift-enter", "ab", "home"], None),
        ("abc", ["page-up", "ctrl-l", "x"], "abcx"),
        ("@cod", ["esc", "e"], "@code"),
        ("abc", ["ctrl-c", "x"], "x"),
        ("", ["backspace", "left", "delete", "click", "shift-tab", "x"], "x"),
    ],
)
def test_edits(text: str, keys: list[str], line: str | None) -> None:
    assert edited(text, *keys).line == line


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        *(
            ("abc", [key])
            for key in ("up", "down", "ctrl-p", "ctrl-n", "ctrl-r", "tab", "click", "ctrl-y", "ctrl-x")
        ),
        *(("abc", [key]) for key in ("esc", "alt-x", "ctrl-s", "ctrl-g", "ctrl-z", "ctrl-d", "shift-tab")),
        ("", ["right"]),
        ("foo.bar", ["ctrl-w"]),
        ("@codex", ["ctrl-w"]),
        ("日本語", ["ctrl-w"]),
        ("one two", ["ctrl-a", "alt-f"]),
        ("e\u0301", ["backspace"]),
        ("❤\ufe0f", ["left"]),
        ("👨\u200d👩", ["backspace"]),
        ("🇯🇵", ["backspace"]),
        ("fix @src/a", ["esc"]),
    ],
)
def test_what_differs_among_the_clis_makes_the_line_unknown(text: str, keys: list[str]) -> None:
    editor = edited(text, *keys)
    assert editor.line is None
    editor.insert("x")
    assert editor.line is None and not editor.is_empty
    editor.enter()
    assert editor.line == "" and editor.is_empty


def test_rows_of_the_screen_make_a_difference_only_where_the_line_wraps() -> None:
    assert edited("word " * 5, "ctrl-u", columns=80).line == ""
    for key in ("ctrl-u", "home", "ctrl-a", "end", "ctrl-e", "ctrl-k"):
        assert edited("word " * 20, key, columns=80).line is None
    assert edited("日" * 40, "home", columns=80).line is None


def test_a_long_paste_is_edited_as_one_and_what_follows_it_freely() -> None:
    for pasted in ("x" * 200, "one\ntwo"):
        editor = LineEditor()
        editor.paste(pasted)
        editor.insert("abc")
        editor.key("left")
        editor.key("backspace")
        assert editor.line == pasted + "ac"
        editor.key("backspace")
        assert editor.line == pasted + "c"
        editor.key("left")
        assert editor.line is None
    editor = LineEditor()
    editor.paste("short")
    editor.key("backspace")
    assert editor.line == "shor"


def test_an_interrupt_leaves_a_doubt_but_no_unknown_line() -> None:
    editor = LineEditor()
    editor.key("esc")
    assert editor.line == "" and not editor.is_empty  # Claude puts the interrupted prompt back
    editor.insert("x")
    editor.enter()
    assert editor.line == "" and editor.is_empty


def test_a_cleared_unknown_line_is_empty_but_for_certain_only_after_enter() -> None:
    editor = edited("", "up", "ctrl-u")
    assert editor.line is None and editor.is_empty
    editor.insert("x")
    assert editor.line is None and not editor.is_empty
    editor.key("ctrl-c")
    assert editor.line == "" and editor.is_empty


def test_enter_in_a_completion_may_not_submit() -> None:
    editor = edited("fix @src/a")
    editor.enter()
    assert editor.line is None and editor.is_empty
    editor.insert(" @lib/b")
    editor.enter()
    assert editor.line is None
    editor.insert(" now")
    editor.enter()
    assert editor.line == ""


def test_a_backslash_before_enter() -> None:
    editor = edited("one\\")
    editor.enter()
    assert editor.line is None and not editor.is_empty


class Reference:
    """A line editor as one would write it down, with a word being what `part` says."""

    def __init__(self, whitespace_words: bool) -> None:
        self.text, self.at, self.whitespace = "", 0, whitespace_words

    def part(self, char: str) -> bool:
        return not char.isspace() if self.whitespace else char.isalnum() or char == "_"

    def back(self) -> int:
        at = self.at
        while at and not self.part(self.text[at - 1]):
            at -= 1
        while at and self.part(self.text[at - 1]):
            at -= 1
        return at

    def on(self) -> int:
        at = self.at
        while at < len(self.text) and not self.part(self.text[at]):
            at += 1
        while at < len(self.text) and self.part(self.text[at]):
            at += 1
        return at

    def insert(self, text: str) -> None:
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def cut(self, start: int, end: int) -> None:
        self.text, self.at = self.text[:start] + self.text[end:], start

    def key(self, name: str) -> None:
        match name:
            case "left" | "ctrl-b":
                self.at = max(self.at - 1, 0)
            case "right" | "ctrl-f":
                self.at = min(self.at + 1, len(self.text))
            case "home" | "ctrl-a":
                self.at = 0
            case "end" | "ctrl-e":
                self.at = len(self.text)
            case "backspace":
                self.cut(max(self.at - 1, 0), self.at)
            case "delete" | "ctrl-d":
                self.cut(self.at, self.at + 1)
            case "ctrl-u":
                self.cut(0, self.at)
            case "ctrl-k":
                self.cut(self.at, len(self.text))
            case "ctrl-w" | "alt-backspace":
                self.cut(self.back(), self.at)
            case "alt-d":
                self.cut(self.at, self.on())
            case "alt-b" | "ctrl-left":
                self.at = self.back()
            case "alt-f" | "ctrl-right":
                self.at = self.on()


PLAIN = (
    "left home end backspace delete ctrl-a ctrl-e ctrl-b ctrl-u ctrl-k ctrl-w ctrl-left alt-b alt-backspace"
)
KEYS = st.sampled_from([*PLAIN.split(), "right", "ctrl-f", "ctrl-d", "alt-d", "alt-f", "ctrl-right"])
TYPED = st.text("ab_ .-@日é", min_size=1, max_size=6)


@given(st.lists(st.tuples(st.just("text"), TYPED) | st.tuples(st.just("key"), KEYS), max_size=30))
def test_a_known_line_is_what_every_editor_shows(steps: list[tuple[str, str]]) -> None:
    editor, editors = LineEditor(columns=200), [Reference(True), Reference(False)]
    for kind, value in steps:
        for one in editors:
            one.insert(value) if kind == "text" else one.key(value)
        editor.insert(value) if kind == "text" else editor.key(value)
        if editor.line is None:
            return
        assert [(one.text, one.at) for one in editors] == [(editor.line, editor.cursor)] * 2


@given(st.lists(st.text("ab ", min_size=1, max_size=1) | st.sampled_from(PLAIN.split()), max_size=30))
def test_plain_words_stay_known(steps: list[str]) -> None:
    assert edited("a", *steps, columns=200).line is not None


@pytest.mark.parametrize(
    ("text", "keys", "line", "mode"),
    [
        ("fix it", ["esc"], "fix it", NORMAL),
        ("", ["esc"], "", NORMAL),
        ("fix it", ["esc", "a", "!"], "fix it!", INSERT),
        ("fix it", ["esc", "i", "x"], "fix ixt", INSERT),
        ("fix it", ["esc", "A", "x"], "fix itx", INSERT),
        ("fix it", ["esc", "I", "x"], "xfix it", INSERT),
        ("", ["esc", "i", "x"], "x", INSERT),
        ("fix it", ["esc", "d"], None, NORMAL),
        ("fix it", ["esc", "0", "i", "x"], None, INSERT),
        ("fix it", ["esc", "0", "A", "x"], "fix itx", INSERT),
        ("fix it", ["esc", "$", "w", "b"], "fix it", NORMAL),
        ("fix it", ["esc", "d", "w"], None, NORMAL),
        ("fix it", ["esc", "left"], "fix it", NORMAL),
        ("fix it", ["esc", "backspace"], None, NORMAL),
        ("one\ntwo", ["esc", "A"], None, NORMAL),
        ("see @src/a", ["esc"], "see @src/a", ""),  # it may only have closed the list of files
    ],
)
def test_vim_keys(text: str, keys: list[str], line: str | None, mode: str) -> None:
    editor = edited(text, *keys, mode=INSERT)
    assert (editor.line, editor.mode) == (line, mode)


def test_a_paste_is_text_in_normal_mode_too_and_many_keys_at_once_are_commands_first() -> None:
    editor = LineEditor()
    editor.mode = NORMAL
    editor.paste("text")
    assert (editor.line, editor.mode) == ("text", NORMAL)
    editor.paste("more")
    assert not editor.known, "before or after the character at the cursor"
    editor.clear()
    editor.insert("i@codex hi")
    assert (editor.line, editor.mode) == ("@codex hi", INSERT)
    editor.clear()
    editor.mode = NORMAL
    editor.insert("x" * 100_000)
    assert not editor.known


@pytest.mark.parametrize(
    ("mode", "stays", "after"),
    [(NORMAL, True, NORMAL), (NORMAL, False, INSERT), (INSERT, True, INSERT), ("", False, "")],
)
def test_the_mode_after_enter(mode: str, stays: bool, after: str) -> None:
    editor = LineEditor()
    editor.mode, editor.stays = mode, stays
    editor.enter()
    assert (editor.line, editor.mode) == ("", after)


def test_in_normal_mode_the_screen_does_not_tell_where_the_cursor_is() -> None:
    editor = LineEditor()
    editor.mode = NORMAL
    editor.see("fix it")
    assert editor.line == "fix it"
    editor.insert("i")
    assert not editor.known and editor.mode == INSERT
