"""Keys in, the same keys out; the Enter of a line for another agent is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.keys.commands import Command, Refusal
from synapse.keys.router import KeyRouter
from synapse.keys.typed import CLEARED, MOVED, NOTHING, SUBMITTED, TYPED
from tests.support.key_streams import STREAMS, cuts

if TYPE_CHECKING:
    from synapse.keys.router import Action


def router(*names: str) -> KeyRouter:
    return KeyRouter(names=names or ("codex", "claude"), cooked=lambda: False)


def passed(actions: list[Action]) -> bytes:
    return b"".join(action[1] for action in actions if action[0] == "pass")


def commands(actions: list[Action]) -> list[Command]:
    return [action[1] for action in actions if action[0] == "command"]


def typed(*chunks: bytes) -> list[Command]:
    it = router()
    return commands([action for chunk in chunks for action in it.feed(chunk)])


ENTERS = [
    b"\r",
    b"\x1b[13u",
    b"\x1b[13;1u",
    b"\x1b[13;1:1u",
    b"\x1b[13;65u",
    b"\x1b[57414u",
    b"\x1bOM",
    b"\x1b[27;1;13~",
]


@pytest.mark.parametrize("enter", ENTERS)
def test_enter_is_held_back_in_every_encoding(enter: bytes) -> None:
    it = router()
    first, second, third = it.feed(b"@codex hi" + enter + b"more")
    assert first == ("pass", b"@codex hi") and third == ("pass", b"more")
    assert isinstance(second[1], Command)
    assert (second[1].name, second[1].message, second[1].enter) == ("codex", "hi", enter)
    assert it.line == "more"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (b"@codexx\x7f hi", "hi"),
        (b"hi\x01@codex \x05 there", "hi there"),
        (b"hi\x1b[H@codex \x1b[F there", "hi there"),
        (b"hi\x1bOH@codex ", "hi"),
        (b"@codex hi\x1b[D\x1b[D\x1b[C\x1b[3~ello", "hello"),
        (b"x\x15@codex hi", "hi"),
        (b"fix this\x17\x17@codex hi", "hi"),
        (b"\x1b[200~@codex one\rtwo\x1b[201~", None),
        (b"\x1b[200~@codex\x1b[201~ one", None),
        (b"@co\x1b[200~dex one\x1b[201~", None),
        (b"@codex\x1b[200~ one\x1b[201~", None),
        (b"\x1b[200~one\x1b[201~\x1b[H@codex ", "one"),
        (b"\x1b[200~@codex one\x1b[201~\x15@codex two", "two"),
        (b"\x1b[200~@codex one\x1b[201~\r@codex two", "two"),
        (b"\x1a@codex hi", "hi"),
        (b"x\x1a@codex hi", None),
        (b"\x04@codex hi", "hi"),
        (b"@codex \x1b[200~one\r\n\r\ntwo\x1b[201~ three", "one\n\ntwo three"),
        (b"@codex one\x1b[13;2utwo\x1b\rthree\nfour", "one\ntwo\nthree\nfour"),
        ("@codex 日本語の入力 🎉".encode(), "日本語の入力 🎉"),
        (b"@cod\x1b[I\x1b[Oex\x1b[<35;3;4M hi\x1b[?62c", "hi"),
        (b"\x1b[64;2u\x1b[64;2:3ucodex\x1b[101;1:3u hi", "hi"),
        (b"old\r@codex hi", "hi"),
        (b"\x1b[A\r@codex hi", "hi"),
        (b"\t\x03@codex hi", "hi"),
        (b"@codex\x1b ", None),
        (b"@codex hi\x1b[A", None),
        (b"\x1b[A@codex hi", None),
        (b"@cod\t hi", None),
        (b"@codex hi\x1b[<0;5;5M", None),
        (b"@codex hi\xff", None),
        (b"@codex hi\x19", None),
        (b"@codex hi\x1b[15~", None),
        (b"@codex hi \\", None),
        (b"@codex fix @src/a", None),
        (b"@codex fix @src/a now", "fix @src/a now"),
        (b"@src/app.py fix this", None),
        (b"me@example.com hi", None),
        (b"@nobody hi", None),
        (b"@codex", None),
    ],
)
def test_the_line_that_was_composed_counts(keys: bytes, message: str | None) -> None:
    for chunks in ([keys, b"\r"], [keys[n : n + 1] for n in range(len(keys))] + [b"\r"]):
        it = router()
        actions = [action for chunk in chunks for action in it.feed(chunk)]
        assert [found.message for found in commands(actions)] == ([message] if message else [])
        assert passed(actions) == keys + (b"" if message else b"\r")


def test_a_wrong_flag_leaves_the_line_to_be_mended() -> None:
    it = router()
    *_, (kind, refusal) = it.feed(b"@codex --priority 9 hi\r")
    assert kind == "refusal" and isinstance(refusal, Refusal) and "1 to 5" in refusal.reason
    assert it.line == "@codex --priority 9 hi"
    assert it.feed(b"\x1b[D\x1b[D\x1b[D\x7f5\x05\r")[-1][0] == "command"


def test_an_enter_cut_across_reads_is_held_back_but_escape_never_is() -> None:
    it = router()
    it.feed(b"@codex hi")
    assert it.feed(b"\x1b[1") == [] and it.undecided
    assert commands(it.feed(b"3u"))[0].enter == b"\x1b[13u"
    it.feed(b"@codex hi")
    assert it.feed(b"\x1b") == [("pass", b"\x1b")]
    assert it.feed(b"[13u") == [("pass", b"[13u")]  # half of it was gone
    it.feed(b"@codex hi\x1b[1;")
    assert it.settle() == [("pass", b"\x1b[1;")]
    assert passed(it.feed(b"5D")) == b"5D"
    it.feed(b"\x05\x1b[1")
    assert it.feed(b"~\r")[0] == ("pass", b"\x1b[1~")


def test_a_lone_escape_is_settled_later() -> None:
    it = router()
    it.feed(b"hello")
    it.feed(b"\x1b")
    assert it.line == "hello" and it.undecided
    assert it.settle() == [] and it.line is None and it.typed == TYPED


def test_what_the_keys_amount_to() -> None:
    it = router()
    for keys, what, empty, line in [
        (b"a", TYPED, False, "a"),
        (b"\x1b[I", NOTHING, False, "a"),
        (b"\x1b[97;1:3u", NOTHING, False, "a"),
        (b"bc\r", SUBMITTED, True, ""),
        (b"x\ry", SUBMITTED, False, "y"),
        (b"\x15", CLEARED, True, ""),
        (b"\x1b[A\x1b[B", MOVED, False, None),
        (b"\x1b[Ax", TYPED, False, None),
        (b"\x1b[A\x1b[200~", TYPED, False, None),
        (b"\x1b[201~", TYPED, False, None),
        (b"\x1b[A\r", SUBMITTED, True, ""),
        (b"\x1b[A", MOVED, False, None),
        (b"\x03", CLEARED, True, ""),
        (b"@codex hi\r", CLEARED, True, ""),
        (b"\x1b[200~part", TYPED, False, None),
        (b" two\x1b[201~", TYPED, False, "part two"),
    ]:
        it.feed(keys)
        assert (it.typed, it.is_empty, it.line) == (what, empty, line), keys


def test_the_kernels_line_editing_has_few_keys() -> None:
    it = KeyRouter(names=["codex"], cooked=lambda: True)
    assert commands(it.feed(b"@codex hi there\x17you\n"))[0].message == "hi you"
    it.feed(b"@codex hi\x16\x1b[D")
    assert it.line is None and commands(it.feed(b"\r")) == []
    it.feed(b"\x1b[A\t\x0c")
    assert it.line == "\x1b[A\t\x0c"  # text to the kernel
    it.feed(b"\x15")
    assert it.line == "" and it.is_empty


def test_routing_off_and_names_that_come_and_go() -> None:
    it = router()
    it.enabled = False
    assert commands(it.feed(b"@codex hi\r")) == []
    it.enabled = True
    it.feed(b"@late hi")
    it.parser.set_names(["late"])
    assert commands(it.feed(b"\r"))[0].name == "late"
    it.parser.set_names([])
    assert it.feed(b"@late hi\r") == [("pass", b"@late hi\r")]


def test_what_somebody_else_types_is_followed() -> None:
    it = router()
    it.follow(b"@codex ")
    assert commands(it.feed(b"hi\r"))[0].message == "hi"
    it.feed(b"half")
    it.follow(b" a line\r")
    assert it.line == "" and it.is_empty


NOISE = STREAMS | st.binary(max_size=60)
PLACES = st.lists(st.integers(0, 500), max_size=20)


@given(NOISE, PLACES)
def test_with_routing_off_every_byte_passes_at_once(stream: bytes, places: list[int]) -> None:
    it = router()
    it.enabled = False
    for chunk in cuts(stream, places):
        assert it.feed(chunk) == [("pass", chunk)]


@given(NOISE, PLACES)
def test_with_no_match_every_byte_passes_at_once(stream: bytes, places: list[int]) -> None:
    it = router("nobody-is-called-that")
    for chunk in cuts(stream, places):
        assert it.feed(chunk) == [("pass", chunk)]


COMMANDS = st.sampled_from([b"@codex hi", b"@codex ", b"hi", b"\x15", b"\x1b[200~x\ry\x1b[201~", *ENTERS])


@given(st.lists(COMMANDS | STREAMS, max_size=12).map(b"".join), PLACES)
def test_what_comes_out_does_not_depend_on_the_cut(stream: bytes, places: list[int]) -> None:
    places = [place for place in places if stream[: place % (len(stream) + 1)][-1:] != b"\x1b"]
    whole, parts = router(), router()
    once, pieces = (
        whole.feed(stream),
        [action for chunk in cuts(stream, places) for action in parts.feed(chunk)],
    )
    assert commands(once) == commands(pieces)
    assert passed(once) + passed(whole.settle()) == passed(pieces) + passed(parts.settle())
    assert (whole.line, whole.is_empty, whole.editor.cursor) == (
        *(parts.line, parts.is_empty),
        parts.editor.cursor,
    )


@given(st.lists(COMMANDS | STREAMS, max_size=12).map(b"".join), PLACES)
def test_nothing_is_lost_but_the_enters_that_are_held_back(stream: bytes, places: list[int]) -> None:
    it, out = router(), b""
    for chunk in cuts(stream, places):
        for _, value in it.feed(chunk):
            out += value.enter if isinstance(value, Command) else value if isinstance(value, bytes) else b"?"
    assert out + passed(it.settle()) == stream


def test_a_long_paste_in_many_reads_is_not_slow() -> None:
    it = router()
    paste = b"@codex \x1b[200~" + b"a line of text\r" * 14_000 + b"\x1b[201~\r"
    actions = [action for n in range(0, len(paste), 4096) for action in it.feed(paste[n : n + 4096])]
    assert len(commands(actions)[0].message) == 14_000 * 15 - 1


# --- what the screen shows --------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [b"1", b"\t", b"\x1b[A\x1b[B", b"\x1b[Z\x1b[A", b"x\x1b[<0;3;4M", b"x\x1a"])
def test_an_empty_composer_is_known_whatever_was_typed(keys: bytes) -> None:
    it = router()
    it.feed(keys)
    it.see("empty", "", is_latest=True)
    assert it.is_empty and it.line == ""
    assert [command.message for command in commands(it.feed(b"@codex hi\r"))] == ["hi"]


def test_what_the_screen_shows_replaces_what_the_keys_do_not_tell() -> None:
    it = router()
    it.feed(b"\x1b[A")
    assert it.line is None
    it.see("draft", "@codex hi", is_latest=True)
    assert it.line == "@codex hi"
    assert [command.message for command in commands(it.feed(b" there\r"))] == ["hi there"]


@pytest.mark.parametrize("shown", ["@codex hi th", "@codex hi   there", "@codex hi\nthere"])
def test_the_keys_know_what_is_not_drawn_yet_and_white_space(shown: str) -> None:
    it = router()
    it.feed(b"@codex hi there")
    it.see("draft", shown, is_latest=True)
    assert it.line == "@codex hi there"


def test_a_draft_that_is_not_shown_whole_is_what_the_keys_say() -> None:
    it = router()
    it.feed(b"@codex hi")
    it.see("draft", None, is_latest=True)
    assert it.line == "@codex hi"
    it.feed(b"\x15")
    it.see("draft", None, is_latest=True)
    assert it.line is None and not it.is_empty


def test_what_was_seen_before_the_last_key_does_not_count() -> None:
    it = router()
    it.feed(b"@codex hi")
    it.see("empty", "", is_latest=False)
    it.see("draft", "@codex", is_latest=False)
    assert it.line == "@codex hi"


@pytest.mark.parametrize("state", ["dialog", "absent"])
def test_keys_for_a_question_or_another_program_are_no_draft(state: str) -> None:
    it = router()
    it.feed(b"half")
    it.see(state, None, is_latest=True)
    assert commands(it.feed(b"1@codex hi\r")) == [] and it.typed == SUBMITTED and it.submitted is None
    assert it.line == "half"
    it.see("unknown", None, is_latest=True)
    assert it.line == "half"
    it.see("draft", "half", is_latest=True)
    it.feed(b"\x15")
    assert [command.message for command in commands(it.feed(b"@codex hi\r"))] == ["hi"]


def test_keys_that_came_while_a_question_opened_leave_the_line_unknown() -> None:
    it = router()
    it.feed(b"half1")
    it.see("dialog", None, is_latest=False)
    assert it.line is None and not it.is_empty
    it.see("draft", "half", is_latest=True)
    assert it.line == "half"


def test_a_pasted_line_that_is_seen_is_pasted_all_the_same() -> None:
    it = router()
    it.feed(b"\x1b[200~@codex one\rtwo\x1b[201~")
    it.see("draft", "@codex one\n two", is_latest=True)
    assert commands(it.feed(b"\r")) == []


@pytest.mark.parametrize("keys", [b"\x1b", b"\t", b"\x1b[A\x1b[B", b"\x1b[200~ more\x1b[201~\t"])
def test_a_pasted_line_stays_pasted_after_keys_that_make_it_unknown(keys: bytes) -> None:
    it = router()
    it.feed(b"\x1b[200~@codex one\x1b[201~")
    it.feed(keys)
    it.settle()
    it.see("draft", "@codex one", is_latest=True)
    assert commands(it.feed(b"\r")) == []
    it.see("empty", "", is_latest=True)
    it.see("draft", "@codex one", is_latest=True)  # from the history
    assert len(commands(it.feed(b"\r"))) == 1


@pytest.mark.parametrize(("keys", "count"), [(b"@codex on", 1), (b"\x1b[200~@codex on\x1b[201~", 0)])
def test_a_line_that_was_set_aside_and_put_back_is_as_it_was(keys: bytes, count: int) -> None:
    it = router()
    it.feed(keys)
    it.replace("")
    assert it.is_empty
    it.replace("@codex on")
    it.see("draft", "@codex on", is_latest=True)
    assert len(commands(it.feed(b"e\r"))) == count
    assert len(commands(it.feed(b"@codex two\r"))) == 1


def test_where_the_agent_does_not_read_the_keys_nothing_is_routed() -> None:
    asked: list[bytes] = []

    def is_there() -> bool:
        asked.append(b"")
        return False

    it = KeyRouter(names=("codex",), cooked=lambda: False, is_there=is_there)
    assert commands(it.feed(b"hello\r@nobody hi\r")) == [] and asked == []  # asked only if it matters
    assert commands(it.feed(b"@codex hi\r")) == [] and asked == [b""]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (b"hello\r", "hello"),
        (b"\x1b[200~one\rtwo\x1b[201~\r", "one\ntwo"),
        (b"x\ry\r", "y"),
        (b"\x1b[A\r", None),
        (b"a\\\r", None),
        (b"see @src/a\r", None),
    ],
)
def test_the_line_that_was_submitted_is_known(keys: bytes, line: str | None) -> None:
    it = router()
    it.feed(keys)
    assert it.typed == SUBMITTED and it.submitted == line


def test_where_the_kernel_edits_a_stopped_program_has_no_line() -> None:
    it = KeyRouter(names=("codex",), cooked=lambda: True)
    it.feed(b"half\x1a")
    assert it.line == ""
    assert [command.message for command in commands(it.feed(b"\x04@codex hi\r"))] == ["hi"]
    it.feed(b"half\x04")  # given to the program without an end of line
    assert it.line is None
