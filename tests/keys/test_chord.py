import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.keys.chord import Chord


def chord() -> Chord:
    return Chord(b"\x1d", b"d")


@pytest.mark.parametrize(
    "keys",
    [
        b"\x1dd",
        b"\x1b[93;5ud",
        b"\x1b[93;5u\x1b[93;5:3u\x1b[100u",  # with the release events that Codex asks for
        b"\x1b[93;5:1u\x1b[100;1:1u",
        b"\x1b[27;5;93~d",
        b"\x1b[93;69u\x1b[100;65u",  # caps lock on
    ],
)
def test_it_is_recognised_in_every_encoding(keys: bytes) -> None:
    assert chord().feed(keys) == (b"", True)


def test_it_is_recognised_across_reads_and_after_text() -> None:
    it = chord()
    assert it.feed(b"hello\x1d") == (b"hello", False)
    assert it.feed(b"d") == (b"", True)


def test_the_first_key_twice_is_the_first_key_once() -> None:
    assert chord().feed(b"\x1d\x1dx") == (b"\x1dx", False)


def test_another_key_after_the_first_passes_both() -> None:
    assert chord().feed(b"\x1dx") == (b"\x1dx", False)
    assert chord().feed(b"\x1d\x1b[A") == (b"\x1d\x1b[A", False)


@given(st.binary(max_size=200).filter(lambda b: b"\x1d" not in b and b"93;" not in b and b";93" not in b))
def test_without_the_first_key_every_byte_passes(data: bytes) -> None:
    assert chord().feed(data) == (data, False)


def test_a_first_key_that_meant_nothing_passes_as_it_came() -> None:
    pressed, released = b"\x1b[93;5u", b"\x1b[93;5:3u"
    assert chord().feed(pressed + b"x") == (pressed + b"x", False)
    it = chord()
    assert it.feed(pressed) == it.feed(released) == (b"", False)
    assert it.feed(b"x") == (pressed + released + b"x", False)
