"""What a human's terminal sends, in every encoding and cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.keys.decoder import KEY, MOUSE, OTHER, PASTE, REPORT, SILENT, TEXT, KeyDecoder
from tests.support.key_streams import STREAMS, cuts


def decode(*chunks: bytes) -> list[tuple[str, str]]:
    """Events, runs of text joined."""
    decoder, out = KeyDecoder(), list[tuple[str, str]]()
    for chunk in chunks:
        for kind, value, _, _ in decoder.decode(chunk):
            if kind == TEXT and out and out[-1][0] == TEXT:
                out[-1] = (TEXT, out[-1][1] + value)
            else:
                out.append((kind, value))
    return out


@pytest.mark.parametrize(
    ("name", "encodings"),
    [
        (
            "enter",
            [b"\r", b"\x1b[13u", b"\x1b[13;1u", b"\x1b[13;1:1u", b"\x1b[13;129u", b"\x1bOM", b"\x1b[57414u"],
        ),
        ("alt-enter", [b"\x1b\r", b"\x1b[13;3u"]),
        ("shift-enter", [b"\x1b[13;2u", b"\x1b[27;2;13~"]),
        ("ctrl-enter", [b"\x1b[13;5u"]),
        ("ctrl-j", [b"\n", b"\x1b[106;5u", b"\x1b[27;5;106~"]),
        ("ctrl-alt-j", [b"\x1b\n", b"\x1b[106;7u"]),
        ("ctrl-]", [b"\x1d", b"\x1b[93;5u", b"\x1b[93:125;5:1u", b"\x1b[27;5;93~", b"\x1b[93;69u"]),
        ("ctrl-space", [b"\x00", b"\x1b[32;5u"]),
        ("ctrl-alt-x", [b"\x1b\x18", b"\x1b[120;7u"]),
        ("backspace", [b"\x7f", b"\x08", b"\x1b[127u", b"\x1b[127;2u", b"\x1b[104;5u", b"\x1b[27;5;104~"]),
        ("alt-backspace", [b"\x1b\x7f", b"\x1b\x08", b"\x1b[127;3u"]),
        ("delete", [b"\x1b[3~", b"\x1b[3;1~", b"\x1b[57426u"]),
        ("left", [b"\x1b[D", b"\x1bOD", b"\x1b[1;1D", b"\x1b[1;1:2D", b"\x1b[57417u"]),
        ("ctrl-left", [b"\x1b[1;5D", b"\x1b[1;133D"]),
        ("alt-left", [b"\x1b[1;3D"]),
        ("shift-left", [b"\x1b[1;2D"]),
        ("f1", [b"\x1bOP", b"\x1b[P", b"\x1b[11~", b"\x1b[[A"]),
        ("f3", [b"\x1bOR", b"\x1b[13~"]),
        ("shift-f5", [b"\x1b[15;2~"]),
        ("home", [b"\x1b[H", b"\x1bOH", b"\x1b[1~", b"\x1b[7~", b"\x1b[1;1H"]),
        ("end", [b"\x1b[F", b"\x1bOF", b"\x1b[4~", b"\x1b[8~"]),
        ("up", [b"\x1b[A", b"\x1bOA"]),
        ("shift-up", [b"\x1b[1;2A"]),
        ("ctrl-u", [b"\x15", b"\x1b[117;5u", b"\x1b[117;5:1u", b"\x1b[27;5;117~", b"\x1b[117;69u"]),
        ("alt-b", [b"\x1bb", b"\x1b[98;3u", b"\x1b[27;3;98~"]),
        ("tab", [b"\t", b"\x1b[9u", b"\x1b[105;5u"]),
        ("shift-tab", [b"\x1b[Z", b"\x1b[9;2u", b"\x1b[1;2Z"]),
        ("esc", [b"\x1b[27u", b"\x1b[27;1:1u"]),
    ],
)
def test_a_key_is_known_in_all_its_encodings(name: str, encodings: list[bytes]) -> None:
    for encoding in encodings:
        assert decode(encoding) == [(KEY, name)], encoding


@pytest.mark.parametrize(
    ("name", "encodings"),
    [
        ("click", [b"\x1b[<0;10;3M", b"\x1b[M !!", b"\x1b[32;10;3M"]),
        ("wheel-up", [b"\x1b[<64;1;2M", b"\x1b[M`!!", b"\x1b[96;1;2M"]),
        ("wheel-down", [b"\x1b[<65;1;2M"]),
        ("", [b"\x1b[<35;1;2M", b"\x1b[<0;1;2m", b"\x1b[MC!!", b"\x1b[M#!!"]),
    ],
)
def test_the_mouse_is_known_in_all_its_encodings(name: str, encodings: list[bytes]) -> None:
    for encoding in encodings:
        assert decode(encoding) == [(MOUSE, name)], encoding


REPORTS = [
    b"\x1b[I", b"\x1b[O", b"\x1b[?62;22c", b"\x1b[>0;276;0c", b"\x1b[=0c", b"\x1b[24;80R", b"\x1b[?1;1R",
    b"\x1b[?1u", b"\x1b[?2026;2$y", b"\x1b[4;2$y", b"\x1b[0n", b"\x1b[?997;1n", b"\x1b[8;24;80t",
    b"\x1b[48;24;80;0;0t", b"\x1b]11;rgb:0000/0000/0000\x1b\\", b"\x1b]52;c;aGk=\x07",
    b"\x1bP>|kitty(1)\x1b\\", b"\x1bP1$r0m\x1b\\", b"\x1b_Gi=1;OK\x1b\\",
]  # fmt: skip


@pytest.mark.parametrize("report", REPORTS)
def test_what_a_terminal_says_by_itself_is_no_key(report: bytes) -> None:
    assert [kind for kind, _ in decode(report)] == [REPORT]


def test_a_report_has_its_parameters() -> None:
    assert decode(b"\x1b[24;80R") == [(REPORT, "24;80R")]


@pytest.mark.parametrize(
    "keys",
    [b"\x1b[13;1:3u", b"\x1b[97;1:3u", b"\x1b[1;1:3D", b"\x1b[3;1:3~", b"\x1b[57441;2u", b"\x1b[57358;65u"],
)
def test_a_released_key_or_a_modifier_alone_is_silent(keys: bytes) -> None:
    assert decode(keys) == [(SILENT, "")]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (b"\x1b[97u", "a"),
        (b"\x1b[97;2u", "A"),
        (b"\x1b[97:65;2u", "A"),
        (b"\x1b[97;65u", "A"),  # caps lock
        (b"\x1b[49:33;2u", "!"),
        (b"\x1b[97;;228u", "ä"),
        (b"\x1b[100;;100u", "d"),
        (b"\x1b[97:65:97;2:1;65u", "A"),
        (b"\x1b[0;;28450:23383u", "漢字"),  # from an input method
        (b"\x1b[0;;128512u", "😀"),
        (b"\x1b[32;2u", " "),
        (b"\x1b[57400u", "1"),
        (b"\x1b[57413u", "+"),
        ("日本語 🎉".encode(), "日本語 🎉"),
    ],
)
def test_keys_that_type(keys: bytes, text: str) -> None:
    assert decode(keys) == [(TEXT, text)]


@pytest.mark.parametrize(
    "keys",
    [
        b"\xff", b"\x9bA", b"\xe3\x81a", b"\x1b[25~", b"\x1b[99999999u", b"\x1b[u", b"\x1b[0u", b"\x1b\xe3",
        b"\x1b]no\r", b"\x1b[12\x01", b"\x1b[201~", b"\x1b[1;0D", b"\x1b[" + b"9" * 5000 + b"u",
        b"\x1b[<" + b"9" * 5000 + b"M",
    ],
)  # fmt: skip
def test_what_is_not_known_is_said_to_be_so(keys: bytes) -> None:
    assert OTHER in [kind for kind, _ in decode(keys)]


def test_a_paste_is_one_piece_with_plain_newlines() -> None:
    assert decode(b"a\x1b[200~one\r\ntwo\rthree\nfour \x1b[A\x07\x1b[201~b") == [
        (TEXT, "a"),
        (PASTE, "one\ntwo\nthree\nfour [A"),
        (TEXT, "b"),
    ]


def test_a_lone_escape_is_decided_later() -> None:
    decoder = KeyDecoder()
    assert list(decoder.decode(b"\x1b")) == [] and decoder.pending
    assert decoder.settle() == [(KEY, "esc")] and not decoder.pending
    assert list(decoder.decode(b"[A")) == [(TEXT, "[A", 0, 2)]
    assert [e[:2] for e in decoder.decode(b"\x1b\x1b[A")] == [(KEY, "esc"), (KEY, "up")]
    assert list(decoder.decode(b"\x1bO")) == [] and decoder.settle() == [(OTHER, "")]
    assert list(decoder.decode(b"\x1b[1;")) == [] and decoder.settle() == []
    assert [e[:2] for e in decoder.decode(b"5D")] == [(KEY, "ctrl-left")]


@given(STREAMS, st.lists(st.integers(0, 500), max_size=20))
def test_the_events_do_not_depend_on_the_cut(stream: bytes, places: list[int]) -> None:
    assert decode(*cuts(stream, places)) == decode(stream)


@given(STREAMS)
def test_every_byte_belongs_to_one_event(stream: bytes) -> None:
    decoder, at = KeyDecoder(), 0
    for kind, _, start, end in decoder.decode(stream):
        assert at <= start or kind == PASTE
        at = max(end, at)
        assert at <= len(stream)


@pytest.mark.parametrize("stream", [b"a\x1b[100;;100u\x1b[1;5:1D\x1b[200~x\ry\x1b[201~" + b"".join(REPORTS)])
def test_a_cut_at_any_position_changes_nothing(stream: bytes) -> None:
    whole = decode(stream)
    for at in range(len(stream)):
        assert decode(stream[:at], stream[at:]) == whole
    assert decode(*(stream[at : at + 1] for at in range(len(stream)))) == whole
