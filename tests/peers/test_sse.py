"""Server-sent events out of bytes, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.event_emitter import SSEEvent
from synapse.peers.sse import EventTooLong, ServerEvent, SSEReader

LINE = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)
NAME = LINE.filter(lambda text: text and not text.startswith(" "))


def read(*pieces: bytes, **more: int) -> list[ServerEvent]:
    reader = SSEReader(**more)
    return [event for piece in pieces for event in reader.feed(piece)]


def test_what_our_own_server_sends() -> None:
    sent = SSEEvent("status", {"state": "working", "text": "明日\r\n"}, "7").to_sse_format().encode()
    (event,) = read(b": keepalive\n\n" + sent)
    assert (event.type, event.id) == ("status", "7") and '"working"' in event.data


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [("message", "a", "")]),
        (b"data\n\ndata:b\r\r", [("message", "", ""), ("message", "b", "")]),
        (b"\xef\xbb\xbfdata: a\ndata:  b\n\n", [("message", "a\n b", "")]),
        (b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [("message", *x) for x in ("a1", "b1", ("c", ""))]),
        (b"id: 1\0\ndata: a\n\n", [("message", "a", "")]),
        (b"event: x\n\ndata: a\n\n", [("message", "a", "")]),  # no data, no event
        (b": only a comment\nretry: 10\nwhat: ever\n\n", []),
        (b"data: not whole\n", []),
    ],
)
def test_the_rules(stream: bytes, expected: list[tuple[str, str, str]]) -> None:
    assert read(stream) == expected


def test_an_id_counts_when_its_event_is_whole() -> None:
    reader = SSEReader()
    reader.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert reader.last_id == "1"
    assert reader.feed(b"\nretry: 250\n") == [("message", "b", "2")] and reader.retry == 250


@given(
    st.lists(st.tuples(NAME, st.lists(LINE, min_size=1, max_size=3), NAME), max_size=6),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_however_it_is_cut(events: list[tuple[str, list[str], str]], end: bytes, cuts: list[int]) -> None:
    stream = b""
    for kind, lines, name in events:
        fields = [f"event: {kind}", f"id: {name}", ": alive", *(f"data: {line}" for line in lines)]
        stream += b"".join(field.encode() + end for field in fields) + end
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[a:b] for a, b in pairwise(places)]
    assert read(*pieces) == [(kind, "\n".join(lines), name) for kind, lines, name in events]


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_any_bytes_at_all(pieces: list[bytes]) -> None:
    assert read(*pieces) == read(b"".join(pieces))


def test_an_event_has_a_bound_and_signs_of_life_have_none() -> None:
    assert read(b"data: " + b"x" * 90 + b"\n\n", *[b": alive\n\n"] * 50, longest=100)
    for endless in ([b"data: xxxx\n"] * 50, [b"x" * 30] * 5):
        with pytest.raises(EventTooLong):
            read(*endless, longest=100)


def test_five_megabytes_in_small_pieces() -> None:
    text = b"y" * 5_000_000
    stream = b"data: " + text + b"\n\n"
    (event,) = read(*(stream[at : at + 1024] for at in range(0, len(stream), 1024)))
    assert len(event.data) == len(text)
