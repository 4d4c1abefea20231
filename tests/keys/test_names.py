import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.keys import names as keys
from synapse.keys.names import encode, parse_chord, parse_key

MODIFIERS = st.sampled_from(["C-", "M-", "S-", "C-M-", "c-", "m-", "s-", "C-M-S-"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Enter", b"\r"),
        ("Escape", b"\x1b"),
        ("Tab", b"\t"),
        ("BTab", b"\x1b[Z"),
        ("S-Tab", b"\x1b[Z"),
        ("Space", b" "),
        ("BSpace", b"\x7f"),
        ("Up", b"\x1b[A"),
        ("Down", b"\x1b[B"),
        ("Right", b"\x1b[C"),
        ("Left", b"\x1b[D"),
        ("Home", b"\x1b[H"),
        ("End", b"\x1b[F"),
        ("PageUp", b"\x1b[5~"),
        ("PPage", b"\x1b[5~"),
        ("PgUp", b"\x1b[5~"),
        ("NPage", b"\x1b[6~"),
        ("PageDown", b"\x1b[6~"),
        ("IC", b"\x1b[2~"),
        ("DC", b"\x1b[3~"),
        ("Delete", b"\x1b[3~"),
        ("F1", b"\x1bOP"),
        ("F4", b"\x1bOS"),
        ("F5", b"\x1b[15~"),
        ("F12", b"\x1b[24~"),
        ("KP7", b"7"),
        ("KP*", b"*"),
        ("KPEnter", b"\r"),
    ],
)
def test_a_name_is_the_key_it_names(name: str, expected: bytes) -> None:
    assert parse_key(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("C-c", b"\x03"),
        ("C-C", b"\x03"),
        ("^c", b"\x03"),
        ("^[", b"\x1b"),
        ("C-]", b"\x1d"),
        ("C-Space", b"\0"),
        ("C-@", b"\0"),
        ("C-2", b"\0"),
        ("C-/", b"\x1f"),
        ("C--", b"\x1f"),
        ("C-?", b"\x7f"),
        ("C-8", b"\x7f"),
        ("C-BSpace", b"\x08"),
        ("M-x", b"\x1bx"),
        ("M-X", b"\x1bX"),
        ("M--", b"\x1b-"),
        ("M-é", "\x1bé".encode()),
        ("M-Enter", b"\x1b\r"),
        ("M-Escape", b"\x1b\x1b"),
        ("C-M-x", b"\x1b\x18"),
        ("S-a", b"A"),
        ("C-Up", b"\x1b[1;5A"),
        ("^Up", b"\x1b[1;5A"),
        ("S-Up", b"\x1b[1;2A"),
        ("C-M-Left", b"\x1b[1;7D"),
        ("C-F1", b"\x1b[1;5P"),
        ("S-F5", b"\x1b[15;2~"),
        ("C-DC", b"\x1b[3;5~"),
    ],
)
def test_modifiers_as_tmux_and_xterm_have_them(name: str, expected: bytes) -> None:
    assert parse_key(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("S-Enter", b"\x1b[13;2u"),
        ("C-Enter", b"\x1b[13;5u"),
        ("C-1", b"\x1b[49;5u"),
        ("C-S-p", b"\x1b[112;6u"),
    ],
)
def test_what_has_no_older_form_is_sent_as_csi_u(name: str, expected: bytes) -> None:
    assert parse_key(name) == expected


def test_cursor_keys_follow_the_mode_that_the_application_set() -> None:
    assert encode(["Up", "Home", "DC"], application_cursor=True) == b"\x1bOA\x1bOH\x1b[3~"
    assert encode(["C-Up"], application_cursor=True) == b"\x1b[1;5A"


def test_what_is_no_name_is_text() -> None:
    assert encode(["hello world", "Enter"]) == b"hello world\r"
    assert encode(['"quoted"', "日本", "Entr", "C-", "^", "M-hello"]) == '"quoted"日本EntrC-^M-hello'.encode()
    assert encode([]) == encode([""]) == b""


@given(st.sampled_from(keys.NAMES))
def test_names_are_read_without_regard_to_case(name: str) -> None:
    assert parse_key(name) is not None
    assert parse_key(name.lower()) == parse_key(name.upper()) == parse_key(name)


@given(MODIFIERS, st.one_of(st.sampled_from(keys.NAMES), st.characters(codec="utf-8")))
def test_every_key_takes_every_modifier(modifiers: str, name: str) -> None:
    assert parse_key(modifiers + name)


@given(st.characters(codec="utf-8"))
def test_a_single_character_types_itself(character: str) -> None:
    assert parse_key(character) == character.encode()


@given(st.text())
def test_any_text_is_a_key_or_goes_as_it_is(text: str) -> None:
    key = parse_key(text)
    assert encode([text]) == (text.encode("utf-8", "replace") if key is None else key)


@given(st.lists(st.text(), max_size=5))
def test_names_are_encoded_one_after_the_other(names: list[str]) -> None:
    assert encode(names) == b"".join(encode([name]) for name in names)


def test_a_chord_is_two_keys_the_first_of_which_types_nothing() -> None:
    assert parse_chord("C-] d") == (b"\x1d", b"d")
    assert parse_chord("F12 C-x") == (b"\x1b[24~", b"\x18")
    for wrong in ("", "C-]", "a d", "Space d", "C-] C-] d", "C-] detach", "Ctrl-b d"):
        assert parse_chord(wrong) is None
