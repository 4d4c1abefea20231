import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.keys.chord import TIMEOUT, Chord
from synapse.keys.typed import ESCAPE_TIMEOUT


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
        b"\x1dD",  # the same
        b"\x1b[93;5u\x1b[57442;1:3u\x1b[100u",  # with the events of the Ctrl key itself
        b"\x1b[93:125:93;5u\x1b[100;;100u",  # with alternate keys, and the text that the key types
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


@given(st.binary(max_size=200).filter(lambda b: b"\x1d" not in b and b"93" not in b))
def test_without_the_first_key_every_byte_passes(data: bytes) -> None:
    it = chord()
    passed, complete = it.feed(data)
    assert not complete and passed == data[: len(passed)]
    assert passed + it.feed(b"xx")[0] == data + b"xx"  # the beginning of a sequence waits for its end


@pytest.mark.parametrize("first", [b"\x1d", b"\x1b[93;5u", b"\x1b[93;5:1u\x1b[93;5:3u", b"\x1b[27;5;93~"])
@pytest.mark.parametrize("second", [b"d", b"\x1b[100u", b"\x1b[100;;100u"])
def test_a_cut_inside_the_numbers_of_a_sequence_changes_nothing(first: bytes, second: bytes) -> None:
    keys = b"ab" + first + second
    for at in range(len(keys)):
        it = chord()
        passed, complete = it.feed(keys[:at])
        rest = it.feed(keys[at:]) if not complete else (b"", True)
        if at < min(5, 2 + len(first)) and keys[:at].endswith(
            (b"\x1b", b"\x1b[")
        ):  # may be a key of its own: it is not held back
            assert not rest[1] and passed + rest[0] == keys
        else:
            assert (passed + rest[0], rest[1]) == (b"ab", True)


def test_a_paste_holds_no_chord_wherever_it_is_cut() -> None:
    keys = b"\x1b[200~one \x1dd \x1b[93;5ud two\x1b[201~"
    for at in range(len(keys)):
        it = chord()
        one, two = it.feed(keys[:at]), it.feed(keys[at:])
        assert (one[0] + two[0], one[1], two[1]) == (keys, False, False)
        assert it.feed(b"\x1dd") == (b"", True)


def test_what_follows_a_chord_is_left_for_the_caller() -> None:
    it = chord()
    assert it.feed(b"a\x1dd\x1b[1;5Dmore") == (b"a", True)
    assert it.rest == b"\x1b[1;5Dmore"
    assert it.feed(b"\x1dd") == (b"", True)


def test_escape_can_be_a_key_of_a_chord() -> None:
    assert Chord(b"\x1d", b"\x1b").feed(b"a\x1d\x1b") == (b"a", True)
    it = Chord(b"\x1b", b"o")
    assert it.feed(b"\x1b[A") == (b"\x1b[A", False)
    assert it.feed(b"\x1b") == (b"", False)
    assert it.feed(b"o") == (b"", True)


def test_an_escape_pressed_a_while_before_does_not_belong_to_the_first_key() -> None:
    now = [0.0]
    for before in (b"\x1b", b"\x1b["):
        it = Chord(b"\x1d", b"d", lambda: now[0])
        assert it.feed(before) == (before, False)
        now[0] += 1.0
        assert it.feed(b"\x1dd") == (b"", True)
        assert it.feed(b"\x1b") == (b"\x1b", False)
        now[0] += 1.0
        assert [it.feed(key) for key in (b"[", b"1", b"2")] == [(b"[", False), (b"1", False), (b"2", False)]


def test_what_the_terminal_sends_by_itself_is_no_key_of_a_chord() -> None:
    it = chord()
    assert it.feed(b"\x1d\x1b[I") == (b"\x1b[I", False)
    assert it.feed(b"d") == (b"", True)


def test_a_first_key_that_meant_nothing_passes_as_it_came() -> None:
    pressed, released = b"\x1b[93;5u", b"\x1b[93;5:3u"
    assert chord().feed(pressed + b"x") == (pressed + b"x", False)
    it = chord()
    assert it.feed(pressed) == it.feed(released) == (b"", False)
    assert it.feed(b"x") == (pressed + released + b"x", False)


@pytest.mark.parametrize("second", [b"\x1b[100;;100u", b"\x1b[100u", b"\x1b[100;1:1u"])
def test_the_second_key_may_come_byte_by_byte(second: bytes) -> None:
    it = chord()
    fed = [it.feed(bytes([byte])) for byte in b"\x1d" + second]
    assert fed == [(b"", False)] * len(second) + [(b"", True)]
    assert it.feed(b"\x1b") == (b"\x1b", False), "Escape is not held back afterwards"


def test_an_escape_after_the_first_key_waits_only_for_a_moment() -> None:
    it = chord()
    assert it.patience is None
    it.feed(b"\x1d")
    assert it.patience == TIMEOUT
    assert it.feed(b"\x1b") == (b"", False)
    assert it.patience == ESCAPE_TIMEOUT
    assert it.give_up() == b"\x1d\x1b" and it.patience is None and it.give_up() == b""
    assert it.feed(b"\x1b") == (b"\x1b", False)
    assert it.feed(b"[A") == (b"[A", False)
