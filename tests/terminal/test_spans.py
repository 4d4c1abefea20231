"""Rows as spans: what a page draws from them is what the cells show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synapse.terminal.screen import Cell, make_screen
from synapse.terminal.spans import spans


def row_of(text: str, cols: int = 30) -> list[Cell]:
    screen = make_screen(cols, 3)
    screen.feed(text.encode())
    return screen.rows(0, 1)[0].cells


def test_plain_text_is_one_span_without_its_trailing_blanks() -> None:
    assert spans(row_of("hello world   ")) == [{"text": "hello world"}]
    assert spans(row_of("")) == []


def test_looks_links_and_widths_divide_a_row() -> None:
    row = row_of("a漢字\x1b[1;31mred\x1b[m \x1b]8;;http://x.example\x07link\x1b]8;;\x07")
    assert spans(row) == [
        {"text": "a"},
        {"text": "漢字", "width": 2},
        {"text": "red", "sgr": "0;1;31"},
        {"text": " "},
        {"text": "link", "link": "http://x.example"},
    ]


def test_blanks_with_a_background_stay() -> None:
    assert spans(row_of("\x1b[44m  \x1b[m  ")) == [{"text": "  ", "sgr": "0;44"}]


def test_a_cluster_is_a_span_of_its_own() -> None:
    assert spans(row_of("xe\u0301y")) == [{"text": "x"}, {"text": "e\u0301", "cluster": True}, {"text": "y"}]


cells = st.builds(
    Cell,
    st.sampled_from(["", " ", "a", "b", "e\u0301"]),
    st.just(1),
    st.sampled_from(["0", "0;1"]),
    st.sampled_from(["", "http://x"]),
) | st.builds(Cell, st.just("漢"), st.just(2), st.just("0"))


@given(st.lists(cells, max_size=30))
def test_nothing_is_lost_or_moved(row: list[Cell]) -> None:
    whole = [half for cell in row for half in ([cell, Cell("", 0)] if cell.width == 2 else [cell])]
    drawn: list[Cell] = []
    for span in spans(whole):
        texts = [span["text"]] if span.get("cluster") else list(span["text"])
        for text in texts:
            cell = Cell(text, span.get("width", 1), span.get("sgr", "0"), span.get("link", ""))
            drawn += [cell, Cell("", 0)] if cell.width == 2 else [cell]
    shown = [cell._replace(text=cell.text or " ") if cell.width else cell for cell in whole]
    assert drawn == shown[: len(drawn)]
    assert all(cell.text == " " and cell.sgr == "0" for cell in shown[len(drawn) :])
