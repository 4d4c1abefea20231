"""Boxes over a terminal: drawn, and taken away without a trace."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synapse.terminal.ghostty import GhosttyScreen
from synapse.terminal.overlay import Box, Painting, drawable_area, paint, repaint
from tests.support.replaying import cases, load, pieces
from tests.support.screen_state import assert_same, state

WORDS = ("reply", "漢字かな", "e\u0301", "🎉", "─│╭", "⚠", "ｗ", " ", "x" * 30, "👩\u200d💻")


def random_boxes(rng: random.Random, size: tuple[int, int]) -> list[Box]:
    cols, rows = size
    boxes = []
    for _ in range(rng.choice((1, 1, 2))):
        height, width = rng.randint(1, rows + 1), rng.randint(1, cols + 2)
        lines = [
            [(rng.choice(WORDS), rng.choice(("0", "0;1;31", "0;7"))) for _ in range(rng.randint(0, 6))]
            for _ in range(height)
        ]
        boxes.append(Box(rng.randint(-1, cols - 1), rng.randint(-1, rows - 1), width, lines))
    return boxes


@pytest.mark.parametrize("case", cases(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_a_recording_looks_the_same_after_overlays_at_random_moments(case: Path) -> None:
    size, events = load(case)
    rng = random.Random(str(case.name))
    terminal, model = GhosttyScreen(*size), GhosttyScreen(*size)
    painting: Painting | None = None
    todo = pieces(rng, events)
    every = max(len(todo) // 60, 1)
    drawn = 0
    for number, (kind, data) in enumerate(todo):
        if kind == "r":
            cols, rows = map(int, data.split(b"x"))
            terminal.feed(painting.erase if painting else b"")
            painting = None
            terminal.resize(cols, rows)
            model.resize(cols, rows)
            continue
        terminal.feed((painting.erase if painting else b"") + data)
        model.feed(data)
        painting = None
        if number % every == 0:
            painting = paint(model, random_boxes(rng, model.size))
            if painting is not None:
                drawn += 1
                terminal.feed(painting.draw)
                assert terminal.cursor == model.cursor
                if drawn % 2:
                    terminal.feed(painting.erase)
                    painting = None
                    assert_same(terminal, model)
    terminal.feed(painting.erase if painting else b"")
    assert drawn > 3
    assert_same(terminal, model, scrollback=True)
    for screen in (terminal, model):
        screen.feed(b"\x1b8")  # the program's own saved cursor
    assert_same(terminal, model)


# Sequences that make life hard for who draws over them.
HARD = st.sampled_from(
    [
        *(
            "\x1b[?1049h",
            "\x1b[?1049l",
            "\x1b[2;5r",
            "\x1b[r",
            "\x1b[?6h",
            "\x1b[?6l",
            "\x1b[?7l",
            "\x1b[?7h",
        ),
        *("\x1b[4h", "\x1b[4l", "\x1b(0", "\x1b(B", "\x1b)0", "\x0e", "\x0f", "\x1b7", "\x1b8", "\x1b[?25l"),
        *(
            "\x1b[?25h",
            "\x1b[31;1m",
            "\x1b[m",
            "\x1b[48;2;9;8;7m",
            "\x1b[4:3;58:5:9m",
            "\x1b[7m",
            "\x1b[?2026h",
        ),
        *(
            "\x1b[?2026l",
            "\x1b]8;id=1;http://x/y\x1b\\",
            "\x1b]8;;\x1b\\",
            "\x1b[2J",
            "\x1b[K",
            "\x1b[1K",
            "\x1b[3P",
        ),
        *(
            "\x1b[4@",
            "\x1b[2L",
            "\x1b[M",
            "\x1b[5X",
            "\x1bM",
            "\x1bD",
            "\x1b[3S",
            "\x1b[2T",
            "\x1b[!p",
            "\x1bc",
        ),
        *(
            "\x1b[?69h",
            "\x1b[3;9s",
            "\x1b[?69l",
            '\x1b[1"q',
            '\x1b[0"q',
            "\x1b[?2027h",
            "\x1b[?5h",
            "\x1b[3g",
        ),
        *(
            "\r\n",
            "\t",
            "\b",
            "\x1b[H",
            "\x1b[99;99H",
            "\x1b[3;20H",
            "\x1b[20G",
            "漢",
            "e\u0301",
            "🎉",
            "👩\u200d💻",
        ),
        *(
            "abc",
            "─" * 7,
            "x" * 25,
            "漢字" * 9,
            " " * 6,
            "\x1b]0;title\x07",
            "\x1b[",
            "\x1b]0;un",
            "🇯🇵",
            "❤\ufe0f",
        ),
    ]
)


@settings(max_examples=400, deadline=None)
@given(
    st.integers(20, 34), st.integers(4, 9), st.lists(st.lists(HARD, max_size=8), max_size=12), st.randoms()
)
def test_hard_sequences_and_overlays_between_them(
    cols: int, rows: int, script: list[list[str]], rng: random.Random
) -> None:
    terminal, model = GhosttyScreen(cols, rows), GhosttyScreen(cols, rows)
    for parts in script:
        data = "".join(parts).encode()
        terminal.feed(data)
        model.feed(data)
        painting = paint(model, random_boxes(rng, model.size))
        if painting is not None:
            terminal.feed(painting.draw)
            if rng.random() < 0.3:
                terminal.feed(painting.draw)
            terminal.feed(painting.erase)
        assert_same(terminal, model, scrollback=True, strict=False)


@settings(max_examples=200, deadline=None)
@given(st.integers(20, 34), st.integers(4, 9), st.lists(HARD, max_size=60), st.lists(HARD, max_size=20))
@example(20, 4, ["\x1b[99;99H", "e\u0301", "\x1b[?1049l"], [])
def test_a_repaint_shows_what_the_model_has(cols: int, rows: int, first: list[str], other: list[str]) -> None:
    terminal, model = GhosttyScreen(cols, rows), GhosttyScreen(cols, rows)
    for screen in (terminal, model):
        screen.feed("".join(first).encode())
    bytes_ = repaint(model)
    if bytes_ is None:
        return
    terminal.feed(b"\x1b[?7l\x1b[H" + b"#" * 500 if not model.mode(6) and model.mode(7) else b"")
    terminal.feed(b"\x1b[?7h" if model.mode(7) else b"")
    terminal.feed(bytes_)
    shown, meant = state(terminal, strict=False), state(model, strict=False)
    assert [row.cells for row in shown["rows"]] == [row.cells for row in meant["rows"]]
    assert shown["cursor"] == meant["cursor"]
    assert shown["scrolled"] == meant["scrolled"]


@pytest.mark.parametrize(
    ("written", "box"),
    [
        ("\r\n👩\u200d💻\x1b[?2027h", Box(3, 1, 5, [[("x", "0")]])),  # which would now be one character
        ("xxxx\x1b[1;20HA", Box(10, 0, 9, [[("x" * 8 + "e\u0301", "0")]])),  # a mark before the last column
        ("\x1b[1;19He\u0301z", Box(10, 0, 9, [[("x", "0")]])),
        ("\x1b[99;99He\u0301\x1b[?7l", Box(3, 0, 5, [[("x", "0")]])),  # and in it, where nothing wraps
    ],
)
def test_marks_and_joiners_stay_where_they_are(written: str, box: Box) -> None:
    terminal, model = GhosttyScreen(20, 4), GhosttyScreen(20, 4)
    for screen in (terminal, model):
        screen.feed(written.encode())
    painting = paint(model, [box])
    if painting is not None:
        terminal.feed(painting.draw + painting.erase)
    assert_same(terminal, model, scrollback=True, strict=False)


def test_nothing_is_drawn_on_a_tiny_terminal() -> None:
    assert drawable_area((19, 24)) is None
    assert drawable_area((80, 3)) is None
    assert paint(GhosttyScreen(19, 24), [Box(0, 0, 5, [[("x", "0")]])]) is None
    assert drawable_area((20, 4)) == (2, 0, 17, 4)


def test_nothing_is_drawn_inside_a_sequence_or_a_character() -> None:
    for cut in (b"\x1b", b"\x1b[3", b"\x1b]0;ti", b"\x1bP1;2", "漢".encode()[:2]):
        screen = GhosttyScreen(40, 10)
        screen.feed(b"hello" + cut)
        assert paint(screen, [Box(2, 2, 9, [[("x", "0")]])]) is None


def test_a_covered_cursor_is_hidden_until_it_is_free() -> None:
    terminal, model = GhosttyScreen(40, 10), GhosttyScreen(40, 10)
    for screen in (terminal, model):
        screen.feed(b"\x1b[3;10H")
    painting = paint(model, [Box(5, 1, 20, [[("x", "0")]] * 4)])
    assert painting is not None
    terminal.feed(painting.draw)
    assert not terminal.cursor_visible
    terminal.feed(painting.erase)
    assert_same(terminal, model)


def test_emoji_of_several_code_points_leave_nothing_in_a_terminal_that_joins_them() -> None:
    """As tmux does: there the rest of the row is in other columns than in the model."""
    rows = ["👩\u200d💻 coder 👨\u200d👩\u200d👧 family", "🇯🇵 flag 🇩🇪 two", "✌🏽 skin 漢字"]
    text = "\r\n".join(
        f"{number} {rows[number % 3]} {rows[(number + 1) % 3]}" for number in range(9)
    ).encode()
    terminal, model = GhosttyScreen(60, 12), GhosttyScreen(60, 12)
    terminal.feed(b"\x1b[?2027h" + text)
    model.feed(text)
    before = terminal.ansi()
    painting = paint(model, [Box(4, 1, 50, [[("─" * 50, "0;7")]] * 7)])
    assert painting is not None
    terminal.feed(painting.draw)
    assert "─" * 50 in terminal.text()
    terminal.feed(painting.erase)
    assert terminal.ansi() == before
