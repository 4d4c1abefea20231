import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.relay import wire

END = wire.SYNCHRONISED_END
FRAMES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=50)), max_size=10)


@given(FRAMES, st.data())
def test_frames_survive_any_cut(frames: list[tuple[int, bytes]], data: st.DataObject) -> None:
    stream = b"".join(wire.pack(kind, payload) for kind, payload in frames)
    unpacker, out, start = wire.Unpacker(), [], 0
    while start < len(stream):
        end = data.draw(st.integers(start + 1, len(stream)))
        out += list(unpacker.feed(stream[start:end]))
        start = end
    assert out == frames


@given(st.integers(0, 2), st.integers(0, 2**32 - 1), st.booleans(), st.none() | st.text(max_size=20))
def test_keys(what: int, count: int, empty: bool, draft: str | None) -> None:
    for line in (None, "", "い\x00\nb"):
        ((kind, payload),) = wire.Unpacker().feed(wire.pack_keys(what, count, empty, draft, line))
        assert kind == wire.KEYS and wire.unpack_keys(payload) == (what, count, empty, draft, line)


def test_sizes() -> None:
    (kind, payload), *_ = wire.Unpacker().feed(wire.pack_size(120, 40))
    assert kind == wire.RESIZE and wire.unpack_size(payload) == (120, 40)


def test_output_that_follows_output_is_joined_and_keeps_its_place() -> None:
    frames = [(wire.OUTPUT, b"a"), (wire.OUTPUT, b"b"), (wire.KEYS, b"k"), (wire.OUTPUT, b"c")]
    joined = [(wire.OUTPUT, b"ab"), (wire.KEYS, b"k"), (wire.OUTPUT, b"c")]
    assert list(wire.joined(frames)) == joined
    assert list(wire.joined([])) == []


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"B1", END], [b"B1" + END]),
        ([b"B1", END, b"B2"], [b"B1", END, b"B2"]),
        ([b"B1", END + b"B2"], [b"B1", END + b"B2"]),
        ([b"B1" + END, b"B2" + END], [b"B1" + END + b"B2" + END]),
        ([b"B1" + END, b"B2" + END, b"B3"], [b"B1" + END + b"B2" + END, b"B3"]),
    ],
)
def test_output_is_cut_where_a_frame_of_synchronised_output_ends(
    pieces: list[bytes], expected: list[bytes]
) -> None:
    """The host draws before the mark, which would show the screen without the drawing."""
    joined = wire.joined([(wire.OUTPUT, piece) for piece in pieces])
    assert [payload for _, payload in joined] == expected
