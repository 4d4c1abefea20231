"""The pure parts of the reference agent: script, keys, composer, wrapping, transcript, painters."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyghostty import Terminal

from synapse.base.text import for_output
from synapse.dummy_agent import script
from synapse.dummy_agent.composer import Composer
from synapse.dummy_agent.keys import Decoder, Event
from synapse.dummy_agent.painter import Canvas, Scroller, fit
from synapse.dummy_agent.script import DIRECTIVES, flood_block, split_mark, steps, words
from synapse.dummy_agent.steps import (
    Crash,
    Die,
    Edit,
    Exit,
    Fact,
    Flood,
    Question,
    Raw,
    Step,
    Text,
    Title,
    Tokens,
    Wait,
)
from synapse.dummy_agent.transcript import Transcript
from synapse.terminal.cells import crop, width, wrap


def decode(*chunks: bytes) -> list[Event]:
    decoder = Decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.settle()


def typed(*chunks: bytes) -> Composer:
    composer = Composer()
    for event in decode(*chunks):
        composer.handle(event)
    return composer


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("hello there", [Text("You said: hello there")]),
        ("say one\\ntwo", [Text("one\ntwo")]),
        ("markdown", [Text(script.MARKDOWN)]),
        ("lines 2", [Text("line 1\nline 2")]),
        ("lines 2 every 0.5", [Text("line 1"), Wait(0.5), Text("\nline 2")]),
        ("silent 2", [Wait(2.0), Text("You said: silent 2")]),
        ("silent 2 here it is", [Wait(2.0), Text("here it is")]),
        ("pause 1 left right", [Text("left "), Wait(1.0), Text("right")]),
        ("frozen .5 x", [Wait(0.5, frozen=True), Text("x")]),
        ("ignore-interrupts 3 x", [Wait(3.0, deaf=True), Text("x")]),
        ("honour 3 x", [Wait(3.0), Text("x")]),
        ("confirm", [Question("confirm", "Do you want to proceed?", ("Yes", "No"))]),
        ("confirm Delete it?", [Question("confirm", "Delete it?", ("Yes", "No"))]),
        ("choose A | B|C", [Question("choose", "Choose one:", ("A", "B", "C"))]),
        ("ask Your name", [Question("ask", "Your name")]),
        ("password", [Question("password", "Password")]),
        ("error", [Text("API Error: 500 Internal server error")]),
        ("error overloaded", [Text("API Error: 500 overloaded")]),
        ("exit 7", [Exit(7)]),
        ("exit", [Exit(0)]),
        ("/exit", [Exit(0)]),
        ("crash", [Crash("asked to crash")]),
        ("die 9", [Die(9)]),
        ("bytes 1b 5b 48", [Raw(b"\x1b[H")]),
        ("title ◇ Ready", [Title("◇ Ready"), Text("Title set.")]),
        ("flood 1", [Flood(15625), Text("flooded 15625 lines")]),
        ("edit notes.md", [Edit("notes.md")]),
        ("tokens 10 2", [Tokens(10, 2), Text("Reported.")]),
        ("tokens 10", [Text("You said: tokens 10")]),
        ("env HOME", [Fact("env", "HOME")]),
        ("size", [Fact("size")]),
        ("a2a-mark", [Text("no mark")]),
    ],
)
def test_a_message_becomes_steps(message: str, expected: list[Step]) -> None:
    made = steps(message)
    assert made == expected
    assert list(map(type, made)) == list(map(type, expected))


@pytest.mark.parametrize(
    "message",
    ["lines many", "silent", "pause for thought", "exit now", "size matters", "crash it", "choose A",
     "bytes x", "exit 300", "ask", "say", "lines 3 each 2", "silent nan", "silent -1",
     "lines", "die", "Say hi"],
)  # fmt: skip
def test_what_is_not_quite_a_directive_is_a_plain_message(message: str) -> None:
    assert steps(message) == [Text(f"You said: {message}")]


def test_a_mark_hides_from_the_directive_but_not_from_the_answer() -> None:
    assert split_mark("[A2A:t1:claude-2] say hi") == ("[A2A:t1:claude-2]", "say hi")
    assert steps("[A2A:t1:claude-2] say hi") == [Text("hi")]
    assert steps("[A2A:t1:claude-2] hi") == [Text("You said: [A2A:t1:claude-2] hi")]
    assert steps("[A2A:t1:claude-2] a2a-mark") == [Text("[A2A:t1:claude-2]")]
    assert steps("[A2A] say hi") == [Text("You said: [A2A] say hi")]


def test_questions_are_answered() -> None:
    assert Question("confirm", "?").reply("1") == "Confirmed."
    assert Question("confirm", "?").reply("2") == "Declined."
    assert Question("choose", "?", ("A", "B")).reply("2") == "You chose: B"
    assert Question("ask", "?").reply("me") == "You answered: me"
    assert Question("password", "?").reply("hunter2") == "Got a password of 7 characters."


@given(st.text())
def test_every_message_has_an_answer(message: str) -> None:
    assert steps(message)
    assert "".join(words(message)) == message


def test_the_flood_is_the_same_however_it_is_cut() -> None:
    whole = flood_block(1, 100)
    assert whole == flood_block(1, 40) + flood_block(41, 60)
    assert len(whole) == 6400


def test_the_documentation_names_every_directive() -> None:
    page = Path("docs/dummy-agent.md").read_text()
    for line in DIRECTIVES.splitlines():
        if not line.startswith(" "):
            assert f"`{line.split()[0]}" in page, line


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a", ("text", "a")),
        ("日".encode(), ("text", "日")),
        (b"\r", ("key", "enter")),
        (b"\n", ("key", "newline")),
        (b"\x1b\r", ("key", "newline")),
        (b"\x1b[13u", ("key", "enter")),
        (b"\x1b[13;2u", ("key", "newline")),
        (b"\x1b[13;1:1u", ("key", "enter")),
        (b"\x1b[117;5u", ("key", "ctrl-u")),
        (b"\x1b[99;5u", ("key", "ctrl-c")),
        (b"\x1b[104;5u", ("key", "backspace")),
        (b"\x1b[106;5u", ("key", "newline")),
        (b"\x1b[27u", ("key", "esc")),
        (b"\x1b[97u", ("text", "a")),
        (b"\x1b[97;2u", ("text", "A")),
        (b"\x1b[27;5;117~", ("key", "ctrl-u")),
        (b"\x15", ("key", "ctrl-u")),
        (b"\x7f", ("key", "backspace")),
        (b"\x08", ("key", "backspace")),
        (b"\x1b[3~", ("key", "delete")),
        (b"\x1b[A", ("key", "up")),
        (b"\x1bOB", ("key", "down")),
        (b"\x1b[1;5D", ("key", "left")),
        (b"\x1b[H", ("key", "home")),
        (b"\x1b[4~", ("key", "end")),
        (b"\x1b", ("key", "esc")),
        (b"\x1b[200~a\rb\x1b[Ac\x1b[201~", ("paste", "a\nb\x1b[Ac")),
    ],
)
def test_a_key_is_decoded(data: bytes, expected: Event) -> None:
    assert decode(data) == [expected]


@pytest.mark.parametrize(
    "data", [b"\x1b[13;1:3u", b"\x1b[I", b"\x1b[?1;2c", b"\x1b]11;rgb:0/0/0\x1b\\", b"\x00"]
)
def test_replies_and_released_keys_are_nothing(data: bytes) -> None:
    assert decode(data) == []


def test_a_key_behind_a_lone_escape_leaves_it_an_escape() -> None:
    assert decode(b"\x1b\x1b[A") == [("key", "esc"), ("key", "up")]
    assert decode(b"\x1b\x03") == [("key", "esc"), ("key", "ctrl-c")]


PIECES = st.sampled_from(
    [
        b"\x1b",
        b"[",
        b"200~",
        b"\x1b[200~",
        b"\x1b[201~",
        b"13;2u",
        b"\x1bO",
        b"\r",
        b"\x1b]0;",
        b"\x07",
        b"x",
        b"\xe6",
    ]
)


@settings(max_examples=300)
@given(
    st.lists(PIECES | st.binary(max_size=4) | st.text(max_size=3).map(str.encode)).map(b"".join), st.data()
)
def test_any_cut_of_the_bytes_decodes_the_same(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    edges = [0, *cuts, len(stream)]
    assert decode(*(stream[a:b] for a, b in pairwise(edges))) == decode(stream)


@pytest.mark.parametrize(
    ("keys", "text", "cursor"),
    [
        (b"abc\x1b[D\x1b[DX", "aXbc", 2),
        (b"abc\x7f", "ab", 2),
        (b"abc\x01X\x05Y", "XabcY", 5),
        (b"ab\ncd\x15", "ab\n", 3),
        (b"ab\ncd\x01\x1b[A\x0b", "\ncd", 0),
        (b"one two  \x17", "one ", 4),
        (b"abc\x01\x1b[3~", "bc", 0),
        (b"ab\x1b\rcd", "ab\ncd", 5),
        ("日本\x7f".encode(), "日", 1),
        ("e\u0301x\x1b[D\x7f".encode(), "x", 0),
        (b"ab\ncdef\x1b[AX", "abX\ncdef", 3),
    ],
)
def test_editing(keys: bytes, text: str, cursor: int) -> None:
    composer = typed(keys)
    assert (composer.text, composer.cursor) == (text, cursor)


def test_the_clear_that_works_on_the_real_ones_works_here() -> None:
    composer = typed(b"one\ntwo \xe6\xbc\xa2\nthree", b"\x1b[A", b"\x15\x7f" * 9, b"\x0b\x1b[3~" * 9)
    assert composer.text == ""


def test_up_and_down_walk_the_history_and_come_back_to_the_draft() -> None:
    composer = typed(b"first")
    composer.submit()
    composer.insert("second")
    composer.submit()
    composer.insert("draft")
    seen = []
    for move in (composer.up, composer.up, composer.up, composer.down, composer.down, composer.down):
        move()
        seen.append(composer.text)
    assert seen == ["second", "first", "first", "second", "draft", "draft"]


def test_a_long_paste_is_shown_as_a_placeholder_and_submitted_whole() -> None:
    pasted = "\n".join(f"row {n}" for n in range(62))
    composer = typed(b"see: ", b"\x1b[200~" + pasted.encode() + b"\x1b[201~", b"!")
    assert composer.layout(80)[0] == ["see: [Pasted text #1 +61 lines]!"]
    assert composer.submit() == f"see: {pasted}!"
    composer.paste("x" * 801)
    assert composer.layout(80)[0] == ["[Pasted text #2 +0 lines]"]
    composer.backspace()
    assert composer.text == ""
    composer.paste("\n".join("12345678"))
    assert len(composer.layout(80)[0]) == 8


def test_the_cursor_stands_in_cells_not_characters() -> None:
    composer = typed("日本a".encode())
    assert composer.layout(10) == (["日本a"], 0, 5)
    assert composer.layout(5) == (["日本a", ""], 1, 0)
    assert composer.layout(3) == (["日", "本a", ""], 2, 0)
    composer.handle(("key", "home"))
    assert composer.layout(5) == (["日本a"], 0, 0)


TEXT = st.text(st.sampled_from("ab -日本漢e\u0301👍\n\t\x1b"), max_size=40)


@given(TEXT, st.integers(1, 12), st.data())
def test_the_cursor_is_always_on_a_row(text: str, columns: int, data: st.DataObject) -> None:
    composer = Composer()
    composer.insert(text)
    composer.cursor = data.draw(st.integers(0, len(composer.cells)))
    rows, row, column = composer.layout(columns)
    assert 0 <= row < len(rows) and 0 <= column < max(columns, 2)
    assert "".join(rows) == for_output(text.replace("\n", ""))


@given(TEXT.map(for_output), st.integers(2, 20))
def test_wrapped_rows_fit_and_lose_nothing_but_spaces(text: str, columns: int) -> None:
    rows = [row for row, _ in wrap(text, columns)]
    assert all(width(row) <= columns for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "").replace("\n", "")


def test_words_stay_whole_where_they_can() -> None:
    assert [row for row, _ in wrap("one two three  four\n  deep", 9)] == [
        "one two",
        "three",
        "four",
        "  deep",
    ]
    assert [row for row, _ in wrap("日本語のab cd", 6)] == ["日本語", "のab", "cd"]
    assert [row for row, _ in wrap("x abcdefgh", 4)] == ["x", "abcd", "efgh"]


@given(TEXT.filter(bool), st.integers(1, 20))
def test_streaming_gives_the_rows_of_the_whole_text(text: str, columns: int) -> None:
    streamed, rows = Transcript(), []
    for chunk in words(text):
        streamed.extend("● ", chunk)
        rows += streamed.take(columns)
        assert len(streamed.growing(columns)) == 1
    streamed.close()
    rows += streamed.take(columns)
    whole = Transcript()
    whole.add("● ", text)
    assert rows == whole.take(columns)


def shown(terminal: Terminal) -> list[str]:
    return [row.rstrip() for row in terminal.contents().split("\n")]


ROWS = st.lists(st.text(st.sampled_from("ab日"), min_size=1, max_size=9), max_size=4)
FRAMES = st.lists(st.tuples(ROWS, ROWS.filter(bool), st.booleans()), min_size=1, max_size=8)


@given(FRAMES)
def test_finished_rows_scroll_away_above_the_live_ones(
    frames: list[tuple[list[str], list[str], bool]],
) -> None:
    size = (8, 5)
    painter, terminal, expected = Scroller(), Terminal(*size), []
    for done, live, with_cursor in frames:
        cursor = (len(live) - 1, 1) if with_cursor else None
        terminal.feed(painter.paint(size, done, live, cursor).encode())
        expected += [crop(row, 8) for row in done]
        assert shown(terminal) == [*expected, *(crop(row, 8) for row in live)]
        assert terminal.mode(25) == with_cursor
        assert painter.paint(size, [], live, cursor) == ""


@given(FRAMES)
def test_the_alternate_screen_shows_the_end_of_it_all(
    frames: list[tuple[list[str], list[str], bool]],
) -> None:
    size = (8, 5)
    painter, terminal = Canvas(), Terminal(*size)
    for above, live, _ in frames:
        terminal.feed(painter.paint(size, above, live, (0, 2)).encode())
        kept = [crop(row, 8) for row in [*above, *live]][-5:]
        assert shown(terminal) == kept
        assert terminal.cursor == (2, len(kept) - len(live))


@given(ROWS.filter(bool), st.integers(1, 9), st.integers(1, 5), st.data())
def test_what_fits_has_the_cursor_in_it(
    live: list[str], columns: int, rows: int, data: st.DataObject
) -> None:
    cursor = (data.draw(st.integers(0, len(live) - 1)), data.draw(st.integers(0, 20)))
    kept, at = fit(live, cursor, (columns, rows))
    assert at is not None and at[0] < len(kept) <= rows and at[1] < columns
    assert kept[at[0]] == crop(live[cursor[0]], columns)


@pytest.mark.parametrize("size", [(40, 10), (20, 10), (60, 10), (33, 20)])
def test_a_resize_leaves_no_rest_of_the_old_live_rows(size: tuple[int, int]) -> None:
    painter, terminal = Scroller(), Terminal(50, 10)
    live = ["─" * 50, "❯ text", "─" * 50, "footer"]
    terminal.feed(painter.paint((50, 10), ["done"], live, (1, 6)).encode())
    terminal.resize(*size)
    terminal.feed(painter.paint(size, [], ["─" * size[0], "❯ text", "footer"], (1, 6)).encode())
    assert shown(terminal) == ["done", "─" * size[0], "❯ text", "footer"]
