import sys
import unicodedata

import pytest

from synapse.cli.list import table
from synapse.cli.shared.page import Page
from synapse.registry import Entry
from synapse.terminal.cells import char_width, crop, width
from synapse.terminal.ghostty import GhosttyScreen


def test_columns_are_measured_in_cells() -> None:
    lines = Page(0, False).table(
        [("NAME", "PORT"), ("レビュー", "8100"), ("e\u0301te", "8101"), ("a", "8102")]
    )
    assert lines == ["NAME      PORT", "レビュー  8100", "e\u0301te       8101", "a         8102"]


def test_a_wide_character_is_not_cut_in_two() -> None:
    assert crop("日本語", 5) == "日本"
    assert width(crop("日本語", 5)) == 4


def test_the_list_of_agents_stays_in_line() -> None:
    entries: list[Entry] = [
        {
            "name": name,
            "agent_type": "dummy",
            "status": "READY",
            "port": 8200,
            "pid": 1,
            "working_dir": working_dir,
        }
        for name, working_dir in (("査読者", "/tmp/作業"), ("b", "/tmp/work"))
    ]
    lines = table(entries, Page(0, False))
    starts = [
        width(lines[0].partition("DIRECTORY")[0]),
        *(width(line.partition("/")[0]) for line in lines[1:]),
    ]
    assert len(set(starts)) == 1
    assert all(width(line) <= 45 for line in table(entries, Page(45, False)))


EXCEPTIONS = [
    (0xAD, 0xAD, "soft hyphen: most terminals show nothing, the emulator a hyphen"),
    (0x0600, 0x0605, "Arabic signs that are format characters and still visible"),
    (0x06DD, 0x06DD, "the same"),
    (0x070F, 0x070F, "the same, in Syriac"),
    (0x0890, 0x0891, "Arabic again"),
    (0x08E2, 0x08E2, "Arabic again"),
    (0x110BD, 0x110CD, "the same, in Kaithi"),
    (0x13430, 0x1343F, "hieroglyph format controls"),
    (0x1171E, 0x1171E, "became a spacing mark in a later Unicode version"),
    (0x115F, 0x115F, "Hangul filler: part of a syllable two cells wide"),
    (0x3164, 0x3164, "Hangul filler"),
    (0xFFA0, 0xFFA0, "Hangul filler"),
    (0xFFF9, 0xFFFB, "interlinear annotation: invisible, one cell in the emulator"),
    (0x2E3A, 0x2E3B, "two-em and three-em dash: one cell by Unicode, two in the emulator"),
    (0x2630, 0x2637, "wide since Unicode 16"),
    (0x268A, 0x268F, "wide since Unicode 16"),
    (0x4DC0, 0x4DFF, "wide since Unicode 16"),
    (0x1D300, 0x1D376, "wide since Unicode 16"),
    (0x1F1E6, 0x1F1FF, "regional indicators: one cell each, for two of them make a flag of two cells"),
]


def differs_by_intent(code: int) -> bool:
    return any(first <= code <= last for first, last, _ in EXCEPTIONS)


@pytest.mark.parametrize("plane", [0, 1, 2])
def test_characters_are_as_wide_as_in_the_emulator(plane: int) -> None:
    screen, wrong = GhosttyScreen(80, 24), []
    step = 1 if plane == 0 else 3
    for code in range(max(plane << 16, 0x20), min((plane + 1) << 16, sys.maxunicode), step):
        char = chr(code)
        if unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs") or differs_by_intent(code):
            continue
        screen.feed(b"\x1b[H\x1b[2Ka" + char.encode())
        if screen.cursor[0] - 1 != char_width(char):
            wrong.append(f"U+{code:04X}")
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("\u200d", 0), ("\u0e31", 0), ("\ufe0f", 0), ("กำลัง", 4), ("\u1112\u1161\u11ab", 2), ("e\u0301", 1),
        ("漢字", 4), ("ｶﾞ", 2), ("—", 1), ("🎉", 2),
    ],
)  # fmt: skip
def test_the_width_of_text(text: str, cells: int) -> None:
    assert width(text) == cells
