"""Keys with the bytes they came as."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synapse.keys.decoder import KEY, PASTE, REPORT, TEXT
from synapse.keys.stream import PART, SEQUENCE, KeyStream
from tests.support.key_streams import STREAMS, cuts


def test_each_piece_has_its_bytes() -> None:
    pieces = list(KeyStream().feed(b"ab\x1b[1;5D\x1b[I\x1b[200~x\x1dy\x1b[201~c\x1b"))
    assert pieces == [
        (TEXT, "ab", b"ab"),
        (KEY, "ctrl-left", b"\x1b[1;5D"),
        (REPORT, "I", b"\x1b[I"),
        (PASTE, "", b"\x1b[200~x\x1dy\x1b[201~"),
        (TEXT, "c", b"c"),
        (PART, "", b"\x1b"),
    ]


def test_only_what_cannot_be_a_key_is_held_back() -> None:
    stream = KeyStream()
    assert [raw for _, _, raw in stream.feed(b"\x1b[")] == [b"\x1b["] and not stream.held
    stream = KeyStream()
    assert list(stream.feed(b"\x1b[9")) == [] and stream.held == b"\x1b[9"
    assert list(stream.feed(b"3;5")) == [] and stream.held == b"\x1b[93;5"
    assert list(stream.feed(b"ux")) == [(KEY, "ctrl-]", b"\x1b[93;5u"), (TEXT, "x", b"x")]


def test_a_sequence_that_never_ends_is_passed_on() -> None:
    stream = KeyStream()
    data = b"\x1b[" + b"1" * 100
    assert b"".join(raw for _, _, raw in stream.feed(data)) == data


@given(STREAMS, st.lists(st.integers(0, 500), max_size=20), st.booleans())
def test_no_byte_is_lost_or_moved(stream: bytes, places: list[int], wide: bool) -> None:
    keys, out = KeyStream(SEQUENCE) if wide else KeyStream(), b""
    for data in cuts(stream, places):
        for _, _, raw in keys.feed(data):
            assert raw and keys.rest <= len(data)
            out += raw
        assert keys.rest == 0
    assert out + keys.held == stream


@given(STREAMS, st.lists(st.integers(0, 500), max_size=20))
def test_reports_are_found_wherever_they_are_cut(stream: bytes, places: list[int]) -> None:
    def reports(*reads: bytes) -> list[bytes]:
        keys = KeyStream(SEQUENCE, lambda: 0.0)
        return [raw for data in reads for kind, _, raw in keys.feed(data) if kind == REPORT]

    cut = cuts(stream, places)
    if not any(data.endswith(b"\x1b") for data in cut):  # such an ESC may be the Escape key
        assert reports(*cut) == reports(stream)
